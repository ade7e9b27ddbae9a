package dev.tidepool.pool;

import org.jetbrains.lincheck.Lincheck;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;

/**
 * How much the model checker looks at: ten scenarios of two threads, and a hundred with {@code
 * -Dtidepool.test.long=true}. The scenarios are the same in each run.
 *
 * <p>The checker wakes all waiting threads at a {@code notify()}. So it does not see that the wrong
 * one is woken.
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

  /**
   * Runs code that starts threads and joins them, in many orders of their steps. Fails if the code
   * throws or hangs.
   */
  public static void inManyOrders(Runnable code) {
    Lincheck.runConcurrentTest(LONG ? 5000 : 500, code);
  }
}
