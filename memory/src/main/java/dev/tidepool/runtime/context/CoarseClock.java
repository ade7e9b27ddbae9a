package dev.tidepool.runtime.context;

/**
 * The clock of a session for code to which {@link System#nanoTime} costs too much: a number that
 * changes about four times a second. The maintenance thread advances it; any thread reads it.
 */
public final class CoarseClock {
  /** About how long a tick is. */
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
