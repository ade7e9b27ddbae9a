package dev.tidepool.spark;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnaryExecNode;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * A node of a physical plan with one child, which preserves the rows of the child and their order.
 *
 * <p>Spark takes nodes apart into elements and copies them by reflection. So a node is public, and
 * its public constructor takes its elements. Nodes with equal elements are equal.
 */
abstract class UnaryPlan extends SparkPlan implements UnaryExecNode {
  private static final long serialVersionUID = 1L;
  static final ClassTag<InternalRow> ROW = ClassTag$.MODULE$.apply(InternalRow.class);

  /** Returns the arguments of the constructor. */
  abstract List<Object> elements();

  @Override
  public Seq<Attribute> output() {
    return child().output();
  }

  @Override
  public Partitioning outputPartitioning() {
    return child().outputPartitioning();
  }

  @Override
  public Seq<SortOrder> outputOrdering() {
    return child().outputOrdering();
  }

  @Override
  public Seq<SparkPlan> children() {
    return Scala.seq(List.of(child()));
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return withNewChildInternal(children.head());
  }

  @Override
  public int productArity() {
    return elements().size();
  }

  @Override
  public Object productElement(int index) {
    return elements().get(index);
  }

  @Override
  public boolean canEqual(Object other) {
    return getClass() == other.getClass();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof UnaryPlan plan && canEqual(plan) && elements().equals(plan.elements());
  }

  @Override
  public int hashCode() {
    return elements().hashCode();
  }
}
