package dev.tidepool.link;

import dev.tidepool.pool.block.Lease;
import dev.tidepool.spi.Event;
import java.lang.foreign.MemorySegment;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A staged transfer, or one thread's part of it, through a ring of staging blocks that the host and
 * the device use in turn. While the device copies one block, the host fills or empties another.
 * Used by one thread. Closing waits for the commands that use the blocks and returns the blocks.
 */
public final class StagingRing implements AutoCloseable {
  // The array is allocated before the first block is leased.
  private final Slot[] slots;
  private final @Nullable AdaptiveCostModel model;
  private final long step;
  private final long bytes;
  private long lastArrival;

  /** The steps for one chunk, in this order. */
  public interface ChunkSteps {
    /** Fills the staged bytes by the host. */
    default void fill(MemorySegment staged, long at) {}

    /** Submits the device's copy of the staged bytes. */
    Event submit(MemorySegment staged, long at);

    /** Empties the staged bytes by the host. */
    default void empty(MemorySegment staged, long at) {}
  }

  /**
   * Leases the blocks.
   *
   * @param granule bytes that chunks do not cut
   * @param model receives the time of each chunk, or null
   */
  public StagingRing(
      long bytes,
      long granule,
      long chunk,
      int depth,
      boolean pinned,
      StagingAllocator staging,
      @Nullable AdaptiveCostModel model) {
    this.bytes = bytes;
    this.model = model;
    step = step(granule, chunk);
    slots = new Slot[Math.clamp(Math.ceilDiv(bytes, step), 1, depth)];
    try {
      for (int i = 0; i < slots.length; i++) {
        slots[i] = slot(staging.lease(Math.max(1, Math.min(step, bytes)), pinned));
      }
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private Slot slot(Lease lease) {
    try {
      return new Slot(lease);
    } catch (Throwable e) {
      // The heap may be full.
      lease.release();
      throw e;
    }
  }

  /** Returns the length of chunks of about this length that do not cut granules. */
  static long step(long granule, long chunk) {
    return Math.max(granule, chunk - chunk % granule);
  }

  /** Returns the bytes of the first block. */
  MemorySegment first() {
    return slots[0].segment;
  }

  /**
   * Moves the whole transfer. Returns after it has arrived.
   *
   * @param turn receives the bytes of a chunk before the host fills it, and may wait
   */
  public void run(ChunkSteps steps, LongConsumer turn) {
    run(steps, turn, new ChunkSequence(bytes, step));
  }

  /**
   * Moves the chunks of a transfer that this thread claims. Returns after they have arrived.
   *
   * @param chunks no longer than the ring's own
   */
  void run(ChunkSteps steps, LongConsumer turn, ChunkSequence chunks) {
    int next = 0;
    for (long at = chunks.take(); at >= 0; at = chunks.take()) {
      Slot slot = slots[next];
      long count = chunks.length(at);
      slot.arrive(steps);
      turn.accept(count);
      slot.submit(steps, at, count);
      next = (next + 1) % slots.length;
    }
    for (int i = 0; i < slots.length; i++) {
      slots[(next + i) % slots.length].arrive(steps);
    }
  }

  @Override
  public void close() {
    for (Slot slot : slots) {
      if (slot != null) {
        slot.close();
      }
    }
  }

  /** One staging block and the command that uses it. */
  private final class Slot {
    private final Lease lease;
    private final MemorySegment segment;
    private @Nullable Event event;
    private MemorySegment part;
    private long at;
    private long submitted;

    Slot(Lease lease) {
      this.lease = lease;
      this.segment = lease.segment();
      this.part = segment;
    }

    void submit(ChunkSteps steps, long offset, long count) {
      part = segment.asSlice(0, count);
      at = offset;
      long start = System.nanoTime();
      steps.fill(part, at);
      submitted = System.nanoTime();
      event = steps.submit(part, at);
      hostCopied(submitted - start);
    }

    void arrive(ChunkSteps steps) {
      Event pending = event;
      if (pending == null) {
        return;
      }
      boolean early = model != null && !pending.isDone();
      // Only now: if the state cannot be queried, close() still waits for the command.
      event = null;
      DeviceLink.finish(pending);
      long now = System.nanoTime();
      if (early) {
        linkMoved(now - Math.max(submitted, lastArrival));
      }
      lastArrival = now;
      steps.empty(part, at);
      hostCopied(System.nanoTime() - now);
    }

    private void hostCopied(long nanos) {
      // One of the two copies is empty and takes no time.
      if (model != null
          && nanos > part.byteSize() / 1000
          && part.byteSize() >= StagingModel.SMALLEST_CHUNK) {
        model.hostCopied(part.byteSize(), nanos);
      }
    }

    private void linkMoved(long nanos) {
      if (model != null && part.byteSize() >= StagingModel.SMALLEST_CHUNK) {
        model.linkMoved(part.byteSize(), nanos);
      }
    }

    /** Waits for the command that uses the block, even after a failure, then returns the block. */
    void close() {
      Event pending = event;
      try {
        if (pending != null) {
          DeviceLink.finishQuietly(pending);
        }
      } finally {
        lease.release();
      }
    }
  }
}
