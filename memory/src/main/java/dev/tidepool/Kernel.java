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
 * <p>A kernel is valid until it or its manager is closed. Closing is optional. Kernels of equal
 * sources share their compiled code, which is freed when the last of them is closed. The code of a
 * kernel that became unreachable without being closed is kept for the next kernel of the same
 * source. A manager keeps the code of the last 256 such kernels, except that of {@linkplain
 * KernelSource#java Java bodies}.
 *
 * <p>Only the buffers that a kernel reads are copied to the device, and only those that it writes
 * become newer there. Buffers of another manager of the same process are copied in and back. Each
 * of these copies is an operation of its own in the order of the buffer, so operations of other
 * threads may run in between: the copy back may overwrite their writes.
 */
public interface Kernel extends AutoCloseable {
  /** Returns the source of the kernel. */
  KernelSource source();

  /**
   * Runs the kernel over its arrays, and waits for its end. An elementwise kernel runs over their
   * common length, all others over one item for each element of their longest array.
   *
   * @throws IllegalArgumentException if an argument is missing, unknown, or of the wrong kind,
   *     length or type
   * @throws IllegalStateException if the kernel or a buffer is closed, or a buffer is mapped in a
   *     way that forbids it
   * @throws KernelCompilationException if no code can be generated for arguments of these types
   * @throws ArrayIndexOutOfBoundsException if an item of a {@linkplain KernelSource#method method}
   *     used an index outside of an array
   * @throws ArithmeticException if an item of a method divided an integer by zero
   */
  void execute(Arguments arguments);

  /**
   * Runs a method or a hand-written kernel over a range, and waits for its end. Throws also the
   * exceptions of {@link #execute(Arguments)}.
   *
   * @throws IllegalArgumentException also if the kernel is elementwise, which has no range, or if
   *     it is a method that takes an index and the range has several dimensions
   */
  void execute(Arguments arguments, LaunchRange range);

  /**
   * Like {@link #execute(Arguments)}, in the background; wrong arguments throw at once.
   *
   * <p>If a kernel fails, the kernels that were requested behind it on its buffers before the
   * failure was known fail with the same exception. Kernels that are requested later do not. So
   * keep and join all futures if no failure may pass unnoticed.
   */
  CompletableFuture<Void> executeAsync(Arguments arguments);

  /**
   * Like {@link #execute(Arguments, LaunchRange)}, in the background; wrong arguments throw at
   * once.
   */
  CompletableFuture<Void> executeAsync(Arguments arguments, LaunchRange range);

  /**
   * Closes the kernel, so that it cannot be run any more. Launches requested before continue. The
   * code is freed when the last of them has ended, unless another kernel of the same source uses
   * it. Idempotent; throws nothing and waits for nothing.
   *
   * <p>The default implementation does nothing.
   */
  @Override
  default void close() {}
}
