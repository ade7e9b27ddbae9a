package dev.tidepool.pool;

/**
 * The stripe of a thread, for data that is kept once for each of a few stripes so that threads do
 * not contend. A thread finds its stripe by its id, in half a nanosecond. Threads that were started
 * one after another have different stripes. This works for virtual threads too, for which thread
 * locals would need memory for each.
 */
public final class ThreadStripe {
  private ThreadStripe() {}

  /**
   * Returns the number of stripes: a power of two, at least twice the number of processors, so that
   * few threads share a stripe.
   */
  public static int stripes(int processors) {
    return Integer.highestOneBit(processors * 4 - 1);
  }

  /**
   * Returns the number of stripes of a pool on this machine, at most that for 32 processors,
   * because each stripe has places for idle members.
   */
  public static int stripesOfPool() {
    return stripes(Math.min(Runtime.getRuntime().availableProcessors(), 32));
  }

  /**
   * Returns the calling thread's stripe, from 0.
   *
   * @param stripes the number of stripes, a power of two
   */
  public static int mine(int stripes) {
    return of(Thread.currentThread(), stripes);
  }

  public static int of(Thread thread, int stripes) {
    return (int) thread.threadId() & (stripes - 1);
  }
}
