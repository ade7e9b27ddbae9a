package dev.tidepool.stream.chunk;

import dev.tidepool.ByteSize;

/**
 * The number of workers of an accelerator, and the size of their chunks.
 *
 * @param workers chunks in flight
 * @param chunk elements of one chunk
 */
public record ChunkPlan(int workers, long chunk) {
  /**
   * Fewer elements are not worth a kernel's launch; chunks are not made smaller than this when
   * memory runs out.
   */
  public static final long SMALLEST_CHUNK = 1024;

  private static final long SHARED_CHUNK_BYTES = 1L << 20;
  private static final long DEVICE_CHUNK_BYTES = 8L << 20;
  // One is transferred to the device, one computed, one transferred back, one read or written.
  private static final int DEVICE_WORKERS = 4;
  // One worker waits for its file or its device while another one computes.
  private static final int FEWEST_WORKERS = 2;
  // Besides one for each processor, because workers wait for each other to write to a file.
  private static final int SPARE_WORKERS = 1;

  /**
   * The work that is divided.
   *
   * @param length elements of every array
   * @param widest bytes of an element of the widest array
   * @param perElement bytes of an element of all arrays together
   * @param shared whether the accelerator shares the host's memory, so that there is one copy
   * @param processors the number of processors of the machine
   * @param accelerators the number of accelerators, which share the memory limit evenly
   */
  public record Work(
      long length, long widest, long perElement, boolean shared, int processors, int accelerators) {
    long footprint() {
      return shared ? perElement : 2 * perElement;
    }
  }

  /**
   * The numbers that the options request.
   *
   * @param workers chunks in flight; 0 to choose
   * @param chunkBytes of the widest array in one chunk; 0 to choose
   * @param memoryLimit bytes of all chunks in flight, on all accelerators, at most
   */
  public record Wishes(int workers, long chunkBytes, long memoryLimit) {}

  /**
   * Returns the plan that keeps the memory limit.
   *
   * @throws IllegalArgumentException if the limit is too small to run; the message says what works
   */
  public static ChunkPlan of(Work work, Wishes wishes) {
    long length = Math.max(1, work.length());
    int spare = work.shared() && wishes.workers() == 0 ? SPARE_WORKERS : 0;
    int defaultWorkers = work.shared() ? work.processors() + spare : DEVICE_WORKERS;
    long workers =
        Math.max(FEWEST_WORKERS, wishes.workers() == 0 ? defaultWorkers : wishes.workers());
    long bytes = wishes.chunkBytes();
    if (bytes == 0) {
      bytes = work.shared() ? SHARED_CHUNK_BYTES : DEVICE_CHUNK_BYTES;
    }
    long wanted = Math.max(SMALLEST_CHUNK, bytes / work.widest());
    // Little work is divided evenly, in whole smallest chunks, rather than left to one worker.
    wanted =
        Math.min(wanted, roundUp(Math.ceilDiv(length, Math.max(FEWEST_WORKERS, workers - spare))));

    long affordable = wishes.memoryLimit() / work.accelerators() / work.footprint();
    if (length <= Math.min(wanted, affordable)) {
      return new ChunkPlan(1, length);
    }
    if (affordable < FEWEST_WORKERS * SMALLEST_CHUNK) {
      throw tooSmall(work, length, wishes.memoryLimit());
    }
    workers = Math.min(workers, affordable / SMALLEST_CHUNK);
    long chunk = Math.min(wanted, affordable / workers);
    chunk -= chunk % SMALLEST_CHUNK;
    return new ChunkPlan((int) Math.min(workers, Math.ceilDiv(length, chunk)), chunk);
  }

  private static IllegalArgumentException tooSmall(Work work, long length, long limit) {
    long each = Math.min(length, FEWEST_WORKERS * SMALLEST_CHUNK) * work.footprint();
    long least = each * work.accelerators();
    String among =
        work.accelerators() == 1 ? "" : " on each of " + work.accelerators() + " accelerators";
    return new IllegalArgumentException(
        "a memory limit of "
            + ByteSize.format(limit)
            + " is too small: the arrays take "
            + work.footprint()
            + " bytes an element"
            + among
            + ", so the least that works is "
            + least
            + " bytes");
  }

  private static long roundUp(long elements) {
    return Math.ceilDiv(elements, SMALLEST_CHUNK) * SMALLEST_CHUNK;
  }
}
