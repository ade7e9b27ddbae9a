package dev.tidepool.runtime.threads;

/**
 * Checks that the calling thread has stack left before it changes state that others wait for.
 *
 * <p>A {@link StackOverflowError} in the middle of a change would leave it incomplete, and the code
 * that undoes it would have no stack either. So an operation calls this first, while it holds
 * nothing. After that, its calls at this depth and within 16 KiB below cannot overflow the stack.
 */
public final class StackReserve {
  private StackReserve() {}

  /**
   * Checks that the thread has the stack that an operation needs to end what it begins.
   *
   * @throws StackOverflowError if it has not; nothing has happened then
   */
  public static void check() {
    LargeFrame.enter();
  }

  /**
   * Checks that the thread has the stack for an operation and for another one that undoes it. A
   * thread that could allocate a buffer can close it from about the same depth.
   *
   * @throws StackOverflowError if it has not; nothing has happened then
   */
  public static void checkForTwo() {
    LargerFrame.enter();
  }
}
