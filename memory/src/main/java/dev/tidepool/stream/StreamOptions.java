package dev.tidepool.stream;

import dev.tidepool.ByteSize;
import java.util.Objects;

/**
 * How a pipeline streams. Immutable; each {@code with} is a copy.
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
 * @param chunkBytes bytes of the widest array in one chunk, or 0 for what suits the accelerator: 1
 *     MiB where it shares the host's memory, so that a chunk stays in the processor's cache, 8 MiB
 *     elsewhere, and 16 MiB where files in Fortran order are turned while they are read
 * @param memoryLimit bytes that the buffers of all chunks in flight may take together, their copies
 *     on the device included; 1 GiB. Where it and {@code chunkBytes} disagree, chunks get smaller.
 *     Several accelerators have equal parts of it
 * @param lanes chunks in flight on each accelerator, or 0 for one more than there are processors
 *     where it shares the host's memory and 4 elsewhere; never fewer than 2, unless one chunk is
 *     all
 * @param deterministic whether several accelerators must give the bits that each of them alone
 *     would give: kernels with functions that may differ in the last places are refused then,
 *     unless all are devices of one name
 * @param progress is told how far it is
 */
public record StreamOptions(
    long chunkBytes, long memoryLimit, int lanes, boolean deterministic, StreamProgress progress) {
  private static final long DEFAULT_MEMORY_LIMIT = 1L << 30;
  private static final int MOST_LANES = 256;

  /** Checks the ranges. */
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

  /** Returns the defaults. */
  public static StreamOptions defaults() {
    return new StreamOptions(0, DEFAULT_MEMORY_LIMIT, 0, false, StreamProgress.NONE);
  }

  /** With chunks of that many bytes an array. */
  public StreamOptions withChunkBytes(long bytes) {
    return new StreamOptions(bytes, memoryLimit, lanes, deterministic, progress);
  }

  /** With that many bytes for all buffers. */
  public StreamOptions withMemoryLimit(long bytes) {
    return new StreamOptions(chunkBytes, bytes, lanes, deterministic, progress);
  }

  /** With that many chunks in flight. */
  public StreamOptions withLanes(int count) {
    return new StreamOptions(chunkBytes, memoryLimit, count, deterministic, progress);
  }

  /** With the same bits whatever accelerators take part. */
  public StreamOptions withDeterministic() {
    return new StreamOptions(chunkBytes, memoryLimit, lanes, true, progress);
  }

  /** Returns a copy with a listener for progress. */
  public StreamOptions withProgress(StreamProgress listener) {
    return new StreamOptions(chunkBytes, memoryLimit, lanes, deterministic, listener);
  }
}
