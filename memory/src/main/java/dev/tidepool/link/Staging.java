package dev.tidepool.link;

import static dev.tidepool.transfer.TransferWay.STAGED_PINNED;
import static dev.tidepool.transfer.TransferWay.STAGED_PLAIN;

import dev.tidepool.pool.block.Lease;
import dev.tidepool.spi.Device;
import dev.tidepool.transfer.TransferWay;
import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Moves bytes between the host and one device through staging blocks: in one block, through a
 * {@link StagingRing}, or by several threads ({@link ParallelStaging}). Returns after the bytes
 * have arrived. Thread-safe.
 */
final class Staging {
  /** The bytes of a transfer that several threads may move. */
  private static final long DIVISIBLE = 16 << 20;

  /** The bytes of such a transfer that justify one of its threads. */
  private static final long SHARE = 4 << 20;

  /** The staging blocks of one of its threads. */
  private static final int DIVIDED_DEPTH = 2;

  private static final int CHUNKS_OF_A_THREAD = 4;

  private final Device device;
  private final StagingAllocator blocks;
  private final StagingThreads helpers;
  private final long chunk;

  /**
   * Creates the staging of a device.
   *
   * @param blocks allocates staging blocks
   * @param helpers help with long transfers
   * @param chunk the largest size of a staging block
   */
  Staging(Device device, StagingAllocator blocks, StagingThreads helpers, long chunk) {
    this.device = device;
    this.blocks = blocks;
    this.helpers = helpers;
    this.chunk = chunk;
  }

  /** Returns the largest size of a staging block. */
  long chunk() {
    return chunk;
  }

  /** Returns a staging block, page-locked if possible and the transfer permits it. */
  Lease lease(long bytes) {
    return blocks.lease(bytes, TransferContext.current().pinned());
  }

  /** Returns whether the bytes fit in one staging block, whatever the link. */
  boolean isOneBlock(HostRegion bytes, TransferContext context) {
    return bytes.byteSize() <= Math.min(StagingModel.SMALLEST_CHUNK, context.chunkOr(chunk));
  }

  /** Moves bytes that fit in the smallest staging block. Returns the path that they took. */
  TransferWay inOneBlock(
      TransferWay way,
      long bytes,
      PriorityGate gate,
      TransferContext context,
      Consumer<MemorySegment> move) {
    Lease lease = blocks.lease(Math.max(1, bytes), mayPin(way, context));
    try {
      MemorySegment block = lease.segment();
      MemorySegment staged = block.asSlice(0, bytes);
      gate.passOneChunk(context, bytes, () -> move.accept(staged));
      return taken(way, block);
    } finally {
      lease.release();
    }
  }

  /** Moves bytes of the host, by several threads if that is faster. Returns the path. */
  TransferWay move(
      TransferWay way,
      HostRegion bytes,
      @Nullable AdaptiveCostModel model,
      PriorityGate gate,
      TransferContext context,
      StagingRing.ChunkSteps steps) {
    int threads = threads(bytes, model, gate, context);
    return threads > 1
        ? divided(way, bytes, threads, gate, context, steps)
        : move(way, bytes.byteSize(), bytes.granule(), model, gate, context, steps);
  }

  /** Moves bytes by one thread. Returns the path, which depends on the staging blocks. */
  TransferWay move(
      TransferWay way,
      long bytes,
      long granule,
      @Nullable AdaptiveCostModel model,
      PriorityGate gate,
      TransferContext context,
      StagingRing.ChunkSteps steps) {
    StagingModel.Plan plan = plan(bytes, model, gate, context);
    int depth = context.pipelined() ? plan.depth() : 1;
    boolean pinned = mayPin(way, context);
    // Enter the gate only with the blocks: a thread that frees memory for a block may need to enter
    // it.
    try (StagingRing ring =
            new StagingRing(
                bytes, granule, context.chunkOr(plan.chunk()), depth, pinned, blocks, model);
        PriorityGate.Passage passage = gate.enter(context)) {
      ring.run(steps, passage::chunk);
      return taken(way, ring.first());
    }
  }

  /**
   * Returns the number of threads that move bytes of the host. It is more than one only while no
   * other transfer moves in this direction, because the thread of that transfer could copy
   * meanwhile.
   */
  private int threads(
      HostRegion bytes,
      @Nullable AdaptiveCostModel model,
      PriorityGate gate,
      TransferContext context) {
    if (bytes.byteSize() < DIVISIBLE
        || helpers.most() == 0
        || !context.pipelined()
        || !bytes.isForAllThreads()
        || gate.isBusy()) {
      return 1;
    }
    int useful = model == null ? Integer.MAX_VALUE : model.model().usefulThreads();
    long most = Math.min(bytes.byteSize() / SHARE, Math.min(useful, 1 + helpers.most()));
    // All rings together have at most the bytes of the transfer.
    long rings = bytes.byteSize() / DIVIDED_DEPTH / context.chunkOr(1);
    return (int) Math.min(most, rings);
  }

  /**
   * Returns the bytes of one chunk of a divided transfer. There are a few chunks for each thread,
   * so that all threads end at about the same time, but no chunk is smaller than necessary, because
   * each costs a command.
   */
  private long dividedStep(HostRegion bytes, int threads, TransferContext context) {
    long few = Long.highestOneBit(bytes.byteSize() / threads / CHUNKS_OF_A_THREAD);
    long best = Math.min(chunk, Math.max(HostRegion.CACHED, few));
    return StagingRing.step(bytes.granule(), context.chunkOr(best));
  }

  /** Moves a transfer by several threads. They share the link, so its cost model is not updated. */
  private TransferWay divided(
      TransferWay way,
      HostRegion bytes,
      int threads,
      PriorityGate gate,
      TransferContext context,
      StagingRing.ChunkSteps steps) {
    long size = bytes.byteSize();
    long step = dividedStep(bytes, threads, context);
    boolean pinned = mayPin(way, context);
    ParallelStaging parallel =
        new ParallelStaging(new ChunkSequence(size, step), steps, gate, context);
    StagingRing[] rings = new StagingRing[threads];
    try {
      for (int i = 0; i < threads; i++) {
        rings[i] = new StagingRing(size, 1, step, DIVIDED_DEPTH, pinned, blocks, null);
      }
      parallel.run(rings, helpers);
      return taken(way, rings[0].first());
    } finally {
      for (StagingRing ring : rings) {
        if (ring != null) {
          ring.close();
        }
      }
    }
  }

  private static boolean mayPin(TransferWay way, TransferContext context) {
    return way != STAGED_PLAIN && context.pinned();
  }

  /** Returns the path of a transfer through a block, which may not be page-locked. */
  private TransferWay taken(TransferWay way, MemorySegment block) {
    return way == STAGED_PINNED && !device.isPinned(block) ? STAGED_PLAIN : way;
  }

  /**
   * Returns how to cut a transfer through staging. If other transfers are in progress, a transfer
   * that fits in one block is not cut: host and device are both busy then anyway, and each command
   * costs.
   */
  private StagingModel.Plan plan(
      long bytes, @Nullable AdaptiveCostModel model, PriorityGate gate, TransferContext context) {
    boolean whole = bytes <= StagingModel.SMALLEST_CHUNK || (bytes <= chunk && gate.isBusy());
    return model == null || whole || !context.pipelined()
        ? new StagingModel.Plan(chunk, 2, 0)
        : model.plan(bytes, chunk);
  }
}
