package dev.tidepool.spi;

/**
 * Knows when the virtual machine begins to shut down. Drivers unregister themselves in exit
 * handlers and on threads of their own, so that a call made then may crash the process instead of
 * failing; their memory goes with the process anyway.
 */
public final class Shutdown {
  /**
   * The virtual machine keeps this thread to its end and starts it when it shuts down. It runs no
   * code of this library, which would keep the class loader: that the thread was started says all.
   */
  private static final Thread HOOK = new Thread(null, null, "tidepool-exit", 0, false);

  private static final boolean BEGUN_BEFORE = !registered();

  private Shutdown() {}

  private static boolean registered() {
    try {
      Runtime.getRuntime().addShutdownHook(HOOK);
      return true;
    } catch (IllegalStateException alreadyShuttingDown) {
      return false;
    }
  }

  /** Returns whether it has begun: no driver may be called any more. */
  public static boolean hasBegun() {
    return BEGUN_BEFORE || HOOK.getState() != Thread.State.NEW;
  }
}
