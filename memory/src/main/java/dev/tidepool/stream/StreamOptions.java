package dev.tidepool.stream;

import dev.tidepool.ByteSize;
import java.util.Objects;

/**
 * Options of a streaming pipeline. Immutable: each {@code with} method returns a copy.
 *
 * {@snippet :
 * StreamOptions options =
 *     StreamOptions.defaults().withMemoryLimit(256L << 20).withChunkBytes(4L << 20);
 * Pipeline.from("x", Path.of("x.npy"))
 *     .through("y = sqrt(x)")
 *     .to("y", Path.of("y.npy"))
 *     .on(memory)
 *     .run(options);
 * }
 *
 * @param chunkBytes the bytes of the widest array in one chunk. 0, the default, lets the library
 *     choose: 1 MiB if the accelerator shares the host's memory, so that a chunk stays in the
 *     processor's cache, otherwise 8 MiB, or 16 MiB if files in Fortran order are transposed while
 *     they are read
 * @param memoryLimit the bytes that the buffers of all chunks in flight may take together,
 *     including their copies on the device; default 1 GiB. If {@code chunkBytes} does not fit,
 *     chunks are smaller. Several accelerators have equal parts of it
 * @param lanes the chunks in flight on each accelerator, at most 256. 0, the default, is one more
 *     than the number of processors if the accelerator shares the host's memory, otherwise 4; at
 *     least 2, unless there is only one chunk
 * @param deterministic whether several accelerators must compute the same bits as each of them
 *     alone; default false. Kernels with functions whose last bits may differ are then rejected,
 *     unless all accelerators are devices of one name
 * @param progress the listener for progress; default none
 */
public record StreamOptions(
    long chunkBytes, long memoryLimit, int lanes, boolean deterministic, StreamProgress progress) {
  private static final long DEFAULT_MEMORY_LIMIT = 1L << 30;
  private static final int MOST_LANES = 256;

  /**
   * Checks the ranges of the numbers.
   *
   * @throws IllegalArgumentException if a number is out of its range
   */
  public StreamOptions {
    Objects.requireNonNull(progress, "progress");
    if (chunkBytes < 0) {
      throw new IllegalArgumentException(
          "a chunk of " + chunkBytes + " bytes; give 1 byte or more, or 0 for the default");
    }
    if (memoryLimit <= 0) {
      throw new IllegalArgumentException(
          "a memory limit of " + ByteSize.format(memoryLimit) + "; give more than that");
    }
    if (lanes < 0 || lanes > MOST_LANES) {
      throw new IllegalArgumentException(
          lanes + " lanes; give 1 to " + MOST_LANES + ", or 0 for the default");
    }
  }

  /** Returns the default options. */
  public static StreamOptions defaults() {
    return new StreamOptions(0, DEFAULT_MEMORY_LIMIT, 0, false, StreamProgress.NONE);
  }

  /** Returns a copy with a size of chunks, in bytes of the widest array. */
  public StreamOptions withChunkBytes(long bytes) {
    return new StreamOptions(bytes, memoryLimit, lanes, deterministic, progress);
  }

  /** Returns a copy with a limit for all buffers, in bytes. */
  public StreamOptions withMemoryLimit(long bytes) {
    return new StreamOptions(chunkBytes, bytes, lanes, deterministic, progress);
  }

  /** Returns a copy with a number of chunks in flight. */
  public StreamOptions withLanes(int count) {
    return new StreamOptions(chunkBytes, memoryLimit, count, deterministic, progress);
  }

  /** Returns a copy whose results do not depend on which accelerators compute. */
  public StreamOptions withDeterministic() {
    return new StreamOptions(chunkBytes, memoryLimit, lanes, true, progress);
  }

  /** Returns a copy with a listener for progress. */
  public StreamOptions withProgress(StreamProgress listener) {
    return new StreamOptions(chunkBytes, memoryLimit, lanes, deterministic, listener);
  }
}
