package dev.tidepool;

import java.util.Optional;

/**
 * How an orchestrator runs a kernel. Immutable; each method returns a copy.
 *
 * {@snippet :
 * float[] x = {1, 2, 3};
 * tidepool.orchestrator().register("twice", KernelSource.elementwise("x = 2 * x"));
 * ExecutionOptions options = ExecutionOptions.defaults().preferring("cuda");
 * tidepool.orchestrator().execute("twice", Arguments.of("x", x), options);
 * }
 *
 * @param accelerator the accelerator that runs the kernel: its id ({@code cuda:0}), its kind for
 *     the best of that kind ({@code cuda}), or {@code auto} for the best of all. Empty runs the
 *     kernel where the most bytes of its buffers are
 * @param range the range of a method or a hand-written kernel; empty takes one item for each
 *     element of the longest array
 * @param preferred whether the kernel runs as if {@code accelerator} were empty if there is no such
 *     accelerator, or if it runs none of the kernel's sources; otherwise this is an error
 * @param chunkBytes bytes of the widest array in one chunk of a streamed kernel; 0 for a size that
 *     suits the accelerator
 * @param memoryLimit bytes that all chunks in flight of a streamed kernel may take on host and
 *     device together; 0 for 1 GiB
 */
public record ExecutionOptions(
    Optional<String> accelerator,
    Optional<LaunchRange> range,
    boolean preferred,
    long chunkBytes,
    long memoryLimit) {
  /**
   * Checks the ranges of the numbers.
   *
   * @throws IllegalArgumentException if {@code chunkBytes} or {@code memoryLimit} is negative
   */
  public ExecutionOptions {
    if (chunkBytes < 0) {
      throw new IllegalArgumentException(
          "a chunk of " + chunkBytes + " bytes; give 1 byte or more, or 0 for the default");
    }
    if (memoryLimit < 0) {
      throw new IllegalArgumentException(
          "a memory limit of " + memoryLimit + " bytes; give more than that, or 0 for the default");
    }
  }

  /** Creates options that require the accelerator. */
  public ExecutionOptions(Optional<String> accelerator, Optional<LaunchRange> range) {
    this(accelerator, range, false, 0, 0);
  }

  /** Returns the default options: the kernel runs where its data is, over all of it. */
  public static ExecutionOptions defaults() {
    return new ExecutionOptions(Optional.empty(), Optional.empty());
  }

  /** Returns these options with an accelerator that is required, by id or kind. */
  public ExecutionOptions on(String accelerator) {
    return new ExecutionOptions(Optional.of(accelerator), range, false, chunkBytes, memoryLimit);
  }

  /**
   * Returns these options with a preferred accelerator, by id or kind. If it is absent or does not
   * run the kernel, the kernel runs where its data is.
   */
  public ExecutionOptions preferring(String accelerator) {
    return new ExecutionOptions(Optional.of(accelerator), range, true, chunkBytes, memoryLimit);
  }

  /** Returns these options with a range. */
  public ExecutionOptions over(LaunchRange range) {
    return new ExecutionOptions(
        accelerator, Optional.of(range), preferred, chunkBytes, memoryLimit);
  }

  /**
   * Returns these options with a size of chunks in bytes. The kernel is then streamed, also over
   * arrays and buffers: its arrays must have the same length, and it runs over one item for each
   * element, once for each chunk.
   */
  public ExecutionOptions withChunkBytes(long bytes) {
    return new ExecutionOptions(accelerator, range, preferred, bytes, memoryLimit);
  }

  /**
   * Returns these options with a limit of memory, in bytes, for all chunks. The kernel is then
   * streamed, as with {@link #withChunkBytes}.
   */
  public ExecutionOptions withMemoryLimit(long bytes) {
    return new ExecutionOptions(accelerator, range, preferred, chunkBytes, bytes);
  }

  /** Returns whether arrays and buffers are streamed; files always are. */
  public boolean isStreamed() {
    return chunkBytes > 0 || memoryLimit > 0;
  }
}
