package dev.tidepool.spi;

/**
 * Knows when the virtual machine begins to shut down. Drivers unregister themselves in exit
 * handlers and on threads of their own, so that a call made then may crash the process instead of
 * failing; their memory goes with the process anyway.
 */
public final class Shutdown {
  private static volatile boolean begun;

  static {
    try {
      Runtime.getRuntime().addShutdownHook(new Thread(() -> begun = true, "tidepool-exit"));
    } catch (IllegalStateException alreadyShuttingDown) {
      begun = true;
    }
  }

  private Shutdown() {}

  /** Whether it has begun: no driver may be called any more. */
  public static boolean hasBegun() {
    return begun;
  }
}
