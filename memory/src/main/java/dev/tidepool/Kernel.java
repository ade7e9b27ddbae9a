package dev.tidepool;

import java.util.concurrent.CompletableFuture;

/**
 * A kernel of one manager. Thread-safe.
 *
 * {@snippet :
 * try (Kernel saxpy = memory.compile(KernelSource.elementwise("y = a * x + y"));
 *     UnifiedBuffer<float[]> x = memory.copyOf(new float[] {1, 2, 3});
 *     UnifiedBuffer<float[]> y = memory.copyOf(new float[] {10, 20, 30})) {
 *   saxpy.execute(Arguments.of("a", 2f, "x", x, "y", y));
 * }
 * }
 *
 * <p>A kernel lives until it is closed, or until its manager is. Closing is optional. Kernels of
 * equal sources share the code that was compiled for them, which is freed when the last of them is
 * closed. The code of a kernel that became unreachable without being closed is kept for the next
 * kernel of the same source: a manager keeps the code of the last 256 such kernels, but not that of
 * {@linkplain KernelSource#java Java bodies}.
 *
 * <p>Only what it reads travels to the device, and only what it writes becomes newer there. Buffers
 * of another manager of the same process are copied in and back. Each copy is work of its own in
 * the order of such a buffer, so work that other threads ask for may come in between: what they
 * write there meanwhile may be overwritten by the copy back.
 */
public interface Kernel extends AutoCloseable {
  /** Returns what it was compiled from. */
  KernelSource source();

  /**
   * Runs it over its arrays: an elementwise kernel over their common length, all others over one
   * item for each element of their longest array. Returns when done.
   *
   * @throws IllegalArgumentException if an argument is missing, unknown, or of the wrong kind,
   *     length or type
   * @throws IllegalStateException if the kernel or a buffer is closed, or a buffer is mapped in a
   *     way that forbids it
   * @throws KernelCompilationException if no code can be made for arguments of these types
   * @throws ArrayIndexOutOfBoundsException if an item of a {@linkplain KernelSource#method method}
   *     used an index outside of an array
   * @throws ArithmeticException if an item of a method divided an integer by zero
   */
  void execute(Arguments arguments);

  /**
   * Runs a method or a hand-written kernel over a range; returns when done. It fails as {@link
   * #execute(Arguments)} does.
   *
   * @throws IllegalArgumentException also if the kernel is elementwise, which has no range, or if
   *     it is a method that takes an index and the range has several dimensions
   */
  void execute(Arguments arguments, LaunchRange range);

  /**
   * {@link #execute(Arguments)} in the background; wrong arguments throw at once. Wait for the
   * future of the last kernel: once a failure is known, later calls do not report it again.
   */
  CompletableFuture<Void> executeAsync(Arguments arguments);

  /** {@link #execute(Arguments, LaunchRange)} in the background; wrong arguments throw at once. */
  CompletableFuture<Void> executeAsync(Arguments arguments, LaunchRange range);

  /**
   * Closes the kernel, which cannot be run any more. Runs that were asked for before still go on,
   * and its code is freed when the last of them has ended, unless another kernel of the same source
   * uses it. Idempotent; throws nothing and waits for nothing.
   *
   * <p>The default does nothing, which is right for an implementation that holds nothing.
   */
  @Override
  default void close() {}
}
