package dev.tidepool.pool;

/**
 * Which stripe a thread belongs to, where something is kept once for each of a few stripes of
 * threads so that they do not meet. A thread finds its stripe by its id, in half a nanosecond:
 * threads that were started one after another have different ones, and a virtual thread, for which
 * a thread local would be one thing more for each, has one like all others.
 */
public final class ThreadStripe {
  private ThreadStripe() {}

  /**
   * Returns a power of two, at least twice as many as processors, so that few threads share one.
   */
  public static int stripes(int processors) {
    return Integer.highestOneBit(processors * 4 - 1);
  }

  /**
   * Returns the caller's stripe, from 0.
   *
   * @param stripes how many there are, a power of two
   */
  public static int mine(int stripes) {
    return of(Thread.currentThread(), stripes);
  }

  public static int of(Thread thread, int stripes) {
    return (int) thread.threadId() & (stripes - 1);
  }
}
