package dev.tidepool.pool;

import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;

/**
 * How much the model checker looks at: ten scenarios of two threads, and a hundred with {@code
 * -Dtidepool.test.long=true}. The scenarios are the same in each run.
 */
public final class ModelChecks {
  private static final boolean LONG = Boolean.getBoolean("tidepool.test.long");

  private ModelChecks() {}

  /** Options to which a test adds the number of its operations. */
  public static ModelCheckingOptions options() {
    return new ModelCheckingOptions()
        .iterations(LONG ? 100 : 10)
        .invocationsPerIteration(LONG ? 1000 : 100)
        .threads(2);
  }
}
