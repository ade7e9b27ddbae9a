package dev.tidepool.runtime.threads;

/**
 * Makes sure that the calling thread has stack left before it changes what other threads wait for.
 *
 * <p>A {@link StackOverflowError} in the middle of a change would leave it half done, and what
 * should undo it would have no stack either. So an operation asks here first, while it holds
 * nothing. What it does later on at this depth, and within 16 KiB below, cannot run out of stack.
 */
public final class StackReserve {
  private StackReserve() {}

  /**
   * Returns if the thread has the stack that an operation needs to end what it begins.
   *
   * @throws StackOverflowError if it has not; nothing has happened then
   */
  public static void check() {
    LargeFrame.enter();
  }

  /**
   * Returns if the thread has the stack for an operation and then for another one, which undoes it.
   * A thread that could allocate a buffer can close it from about the same depth.
   *
   * @throws StackOverflowError if it has not; nothing has happened then
   */
  public static void checkForTwo() {
    LargerFrame.enter();
  }
}
