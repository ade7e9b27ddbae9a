package dev.tidepool.spark;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;

/** Tells Spark's planner how to run the kernels of a plan. */
final class KernelStrategy extends SparkStrategy {
  private static final long serialVersionUID = 1L;

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    return plan instanceof KernelNode node
        ? Scala.seq(List.of(planned(node.parts())))
        : Scala.seq(List.of());
  }

  private SparkPlan planned(KernelParts<LogicalPlan> parts) {
    SparkPlan input = new KernelInputExec(Scala.schema(parts.results()), planLater(parts.child()));
    return new KernelOutputExec(new KernelExec(parts.withChild(input)));
  }
}
