package dev.tidepool.runtime.context;

/**
 * The clock of a session for code that cannot afford {@link System#nanoTime}: a number that changes
 * about four times a second. The maintenance thread advances it; any thread reads it.
 */
public final class CoarseClock {
  /** The approximate length of a tick. */
  public static final long NANOS = 250_000_000L;

  private volatile int now;

  /** Returns the number of ticks so far. */
  int now() {
    return now;
  }

  /** Begins the next tick. Only one thread may call this. */
  @SuppressWarnings("NonAtomicVolatileUpdate") // one thread alone writes it
  public void advance() {
    now++;
  }
}
