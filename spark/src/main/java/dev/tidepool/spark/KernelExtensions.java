package dev.tidepool.spark;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.SparkSessionExtensionsProvider;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Adds the {@link KernelStrategy} to every session of an application, because a view may be used in
 * another session than the one that created it. Spark loads this class as a service.
 */
public final class KernelExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit>
    implements SparkSessionExtensionsProvider {
  /** Called by Spark. */
  public KernelExtensions() {}

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectPlannerStrategy(
        new AbstractFunction1<>() {
          @Override
          public SparkStrategy apply(SparkSession session) {
            return new KernelStrategy();
          }
        });
    return BoxedUnit.UNIT;
  }
}
