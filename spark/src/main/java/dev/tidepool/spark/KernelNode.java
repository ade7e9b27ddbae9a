package dev.tidepool.spark;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * A kernel in the plan of a query. Its output is the columns of the child, followed by the results.
 *
 * <p>Spark's optimizer takes the node apart and copies it by reflection, so the class is public.
 * The optimizer sees which columns the kernel reads, and removes unused columns from the child.
 */
public final class KernelNode extends LogicalPlan {
  private static final long serialVersionUID = 1L;

  private final KernelParts<LogicalPlan> parts;

  /** Called by Spark through reflection. */
  public KernelNode(
      TypedKernel kernel, Seq<Attribute> inputs, Seq<Attribute> results, LogicalPlan child) {
    this(new KernelParts<>(kernel, inputs, results, child));
  }

  KernelNode(KernelParts<LogicalPlan> parts) {
    this.parts = parts;
  }

  KernelParts<LogicalPlan> parts() {
    return parts;
  }

  @Override
  public Seq<Attribute> output() {
    return parts.output();
  }

  @Override
  public AttributeSet producedAttributes() {
    return parts.produced();
  }

  @Override
  public Seq<LogicalPlan> children() {
    return Scala.seq(List.of(parts.child()));
  }

  @Override
  public LogicalPlan withNewChildrenInternal(IndexedSeq<LogicalPlan> children) {
    return new KernelNode(parts.withChild(children.head()));
  }

  @Override
  public int productArity() {
    return parts.elements().size();
  }

  @Override
  public Object productElement(int index) {
    return parts.elements().get(index);
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof KernelNode;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof KernelNode node && parts.equals(node.parts);
  }

  @Override
  public int hashCode() {
    return parts.hashCode();
  }
}
