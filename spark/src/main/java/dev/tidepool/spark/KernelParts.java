package dev.tidepool.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.AttributeSet$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import scala.collection.immutable.Seq;

/**
 * The elements of a kernel's node, in logical and in physical plans. Spark takes nodes apart by the
 * numbers of their elements.
 *
 * @param kernel the kernel
 * @param inputs the columns of the kernel's inputs, in their order
 * @param results the columns of the kernel's results, in their order
 * @param child the source of the rows
 */
record KernelParts<P extends QueryPlan<P>>(
    TypedKernel kernel, Seq<Attribute> inputs, Seq<Attribute> results, P child)
    implements Serializable {
  /** Returns the arguments of the node's constructor. */
  List<Object> elements() {
    return List.of(kernel, inputs, results, child);
  }

  /** Returns the columns of the child, followed by the results. */
  Seq<Attribute> output() {
    List<Attribute> output = new ArrayList<>(Scala.list(child.output()));
    output.addAll(Scala.list(results));
    return Scala.seq(output);
  }

  /** Returns the columns that the child does not have. */
  AttributeSet produced() {
    return AttributeSet$.MODULE$.apply(Scala.<Expression>seq(Scala.list(results)));
  }

  <Q extends QueryPlan<Q>> KernelParts<Q> withChild(Q other) {
    return new KernelParts<>(kernel, inputs, results, other);
  }
}
