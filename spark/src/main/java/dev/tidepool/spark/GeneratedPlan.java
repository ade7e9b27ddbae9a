package dev.tidepool.spark;

import org.apache.spark.sql.execution.CodegenSupport;
import org.apache.spark.sql.execution.SparkPlan;
import org.jspecify.annotations.Nullable;

/** A plan node that takes part in the code that Spark generates for a stage. */
abstract class GeneratedPlan extends UnaryPlan implements CodegenSupport {
  private static final long serialVersionUID = 1L;

  private final SparkPlan child;
  private transient @Nullable CodegenSupport parent;

  GeneratedPlan(SparkPlan child) {
    this.child = child;
  }

  @Override
  public SparkPlan child() {
    return child;
  }

  @Override
  public @Nullable CodegenSupport parent() {
    return parent;
  }

  @Override
  public void parent_$eq(CodegenSupport above) {
    parent = above;
  }
}
