package dev.tidepool.spi;

/**
 * Detects that the virtual machine begins to shut down. Drivers unregister themselves in exit
 * handlers and on their own threads, so a later call may crash the process. Their memory is freed
 * with the process anyway.
 */
public final class Shutdown {
  /**
   * The virtual machine keeps this thread, and starts it when it shuts down. The thread runs no
   * code of this library, which would keep the class loader reachable; its state is the only
   * information needed.
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

  /** Returns whether shutdown has begun, so that no driver may be called any more. */
  public static boolean hasBegun() {
    return BEGUN_BEFORE || HOOK.getState() != Thread.State.NEW;
  }
}
