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
 * @param range the range of a hand-written kernel; empty takes one item for each element
 * @param preferred whether the kernel runs as if {@code accelerator} were empty where there is no
 *     such accelerator, or where it runs none of the kernel's sources; otherwise that is an error
 * @param chunkBytes bytes of the widest array in one chunk of a kernel that is streamed; 0 for what
 *     suits the accelerator
 * @param memoryLimit bytes that all chunks in flight of a kernel that is streamed may take on host
 *     and device together; 0 for 1 GiB
 */
public record ExecutionOptions(
    Optional<String> accelerator,
    Optional<LaunchRange> range,
    boolean preferred,
    long chunkBytes,
    long memoryLimit) {
  /** Checks the ranges. */
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

  /** Options whose accelerator is required. */
  public ExecutionOptions(Optional<String> accelerator, Optional<LaunchRange> range) {
    this(accelerator, range, false, 0, 0);
  }

  /** Where the data is, over all of it. */
  public static ExecutionOptions defaults() {
    return new ExecutionOptions(Optional.empty(), Optional.empty());
  }

  /** These options on an accelerator, by id or kind; no other one takes its place. */
  public ExecutionOptions on(String accelerator) {
    return new ExecutionOptions(Optional.of(accelerator), range, false, chunkBytes, memoryLimit);
  }

  /**
   * These options on an accelerator, by id or kind, if it is there and runs the kernel; otherwise
   * where the data is.
   */
  public ExecutionOptions preferring(String accelerator) {
    return new ExecutionOptions(Optional.of(accelerator), range, true, chunkBytes, memoryLimit);
  }

  /** These options over a range. */
  public ExecutionOptions over(LaunchRange range) {
    return new ExecutionOptions(
        accelerator, Optional.of(range), preferred, chunkBytes, memoryLimit);
  }

  /**
   * These options with chunks of that many bytes. The kernel is streamed then, also over arrays and
   * buffers: its arrays have one length, and it runs over one item for each element, once for each
   * chunk.
   */
  public ExecutionOptions withChunkBytes(long bytes) {
    return new ExecutionOptions(accelerator, range, preferred, bytes, memoryLimit);
  }

  /**
   * These options with that much memory for all chunks. The kernel is streamed then, as {@link
   * #withChunkBytes} says.
   */
  public ExecutionOptions withMemoryLimit(long bytes) {
    return new ExecutionOptions(accelerator, range, preferred, chunkBytes, bytes);
  }

  /** Returns whether arrays and buffers are streamed, as files always are. */
  public boolean isStreamed() {
    return chunkBytes > 0 || memoryLimit > 0;
  }
}
