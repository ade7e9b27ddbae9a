package dev.tidepool.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;

/** Tells Spark's planner how the kernels of a plan are run. */
final class KernelStrategy extends SparkStrategy {
  private static final long serialVersionUID = 1L;

  private KernelStrategy() {}

  /** Adds the strategy to a session that does not have it; copies of the session have it too. */
  static void install(SparkSession session) {
    ExperimentalMethods methods = session.experimental();
    synchronized (methods) {
      List<SparkStrategy> strategies = new ArrayList<>(Scala.list(methods.extraStrategies()));
      if (strategies.stream().noneMatch(KernelStrategy.class::isInstance)) {
        strategies.add(new KernelStrategy());
        methods.extraStrategies_$eq(Scala.seq(strategies));
      }
    }
  }

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
