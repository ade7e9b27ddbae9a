package dev.tidepool.runtime.reclaim;

import dev.tidepool.diagnostics.Defragmentation;
import dev.tidepool.pool.block.BlockMover;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.storage.BackingBlocks;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.MemoryPools;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.EventWait;
import dev.tidepool.spi.support.FailureLog;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One pass that compacts the device copies of idle buffers. The pools select the blocks. This class
 * moves the bytes by operations in the buffers' queues. A buffer with unfinished operations stays
 * in place, and so does one that is mapped, or whose address a user has. Used by one thread.
 */
final class Defragmenter implements BlockMover {
  private static final long LOOK_NANOS = 10_000;

  private long buffers;
  private long bytes;

  private Defragmenter() {}

  /** Defragments the pools of a manager, including shared ones with all their buffers. */
  static Defragmentation run(MemoryPools pools) {
    Defragmenter pass = new Defragmenter();
    long returned = pools.compactDevice(pass);
    return new Defragmentation(pass.buffers, pass.bytes, returned);
  }

  /**
   * The move of a buffer to another block.
   *
   * @param lease of the new block
   */
  private record BufferMove(Storage storage, PooledBlock from, PooledBlock to, Lease lease) {
    BackingBlocks backing() {
      return storage.coherence().backing();
    }

    boolean isPossible() {
      return backing().isMovableFrom(from)
          && !storage.holds().keepDevice()
          && (!backing().isShared() || !storage.holds().keepHost());
    }
  }

  private enum Stage {
    ASKED,
    STOPPED,
    UNDER_WAY,
    STAYED,
    MOVED
  }

  /** The state of a move of several buffers, which another thread may perform. */
  private static final class MoveOutcome extends AtomicReference<Stage> {
    private static final long serialVersionUID = 1;

    MoveOutcome() {
      super(Stage.ASKED);
    }

    /**
     * Returns whether the buffers were moved. Waits for a thread that moves them; cancels the move
     * if it has not begun.
     */
    boolean hasMoved() {
      if (compareAndSet(Stage.ASKED, Stage.STOPPED)) {
        return false;
      }
      while (get() == Stage.UNDER_WAY) {
        LockSupport.parkNanos(LOOK_NANOS);
      }
      return get() == Stage.MOVED;
    }
  }

  @Override
  public boolean move(List<Move> moves) {
    try {
      List<BufferMove> bufferMoves = new ArrayList<>();
      for (Move move : moves) {
        Storage storage = holder(move.from());
        if (storage == null) {
          return false;
        }
        bufferMoves.add(new BufferMove(storage, move.from(), move.to(), new Lease(move.to())));
      }
      return moveTogether(bufferMoves);
    } catch (RuntimeException | Error e) {
      FailureLog.warn("defragmentation was stopped", e);
      return false;
    }
  }

  private boolean moveTogether(List<BufferMove> moves) {
    MoveOutcome outcome = new MoveOutcome();
    Operation operation =
        Operation.moving(
            moves.stream().map(BufferMove::storage).toList(), () -> move(moves, outcome));
    try {
      operation.performIfIdle(!Thread.currentThread().isVirtual());
    } catch (RuntimeException | Error e) {
      FailureLog.warn("defragmentation was stopped", e);
    }
    return outcome.hasMoved();
  }

  private static @Nullable Storage holder(PooledBlock block) {
    BufferCore core = BufferCore.of(block);
    return core == null ? null : core.storageUnlessClosed();
  }

  private void move(List<BufferMove> moves, MoveOutcome outcome) {
    if (!outcome.compareAndSet(Stage.ASKED, Stage.UNDER_WAY)) {
      return;
    }
    Stage end = Stage.STAYED;
    try {
      if (moves.stream().allMatch(BufferMove::isPossible)) {
        end = moved(moves) ? Stage.MOVED : Stage.STAYED;
        boolean hasMoved = end == Stage.MOVED;
        moves.forEach(each -> clean(each, hasMoved ? each.from() : each.to()));
      }
    } finally {
      outcome.set(end);
    }
  }

  private boolean moved(List<BufferMove> moves) {
    // Prepared before the changes below, which must not fail half-way.
    @Nullable MemorySegment[] bytes = new @Nullable MemorySegment[moves.size()];
    try {
      for (int i = 0; i < bytes.length; i++) {
        BufferMove each = moves.get(i);
        bytes[i] = each.backing().isShared() ? each.backing().segment(each.lease()) : null;
      }
      copyAll(moves);
    } catch (RuntimeException | Error e) {
      FailureLog.debug("buffers could not be moved together; they stay where they are", e);
      return false;
    }
    for (int i = 0; i < bytes.length; i++) {
      BufferMove each = moves.get(i);
      each.to().occupy(each.storage().core());
      each.storage().context().registry().relocated(each.storage().core());
      each.backing().moved(each.lease(), bytes[i]).surrender();
      buffers++;
      this.bytes += each.storage().byteSize();
    }
    return true;
  }

  /**
   * Overwrites an abandoned block if the options require it. If that fails, the pool must not keep
   * the block.
   */
  private static void clean(BufferMove each, PooledBlock abandoned) {
    if (!each.storage().context().scrubber().overwroteAbandoned(abandoned.block())) {
      abandoned.markUnclean();
    }
  }

  /** Copies all bytes, concurrently on the device. No operation uses them meanwhile. */
  private static void copyAll(List<BufferMove> moves) {
    Event[] events = new Event[moves.size()];
    int submitted = 0;
    Throwable failure = null;
    try {
      for (BufferMove each : moves) {
        if (each.backing().isShared()) {
          copyOnHost(each);
        } else {
          StorageContext owner = each.storage().context();
          Block from = each.from().block();
          events[submitted] =
              owner.link().startCopy(from, each.to().block(), each.storage().byteSize());
          submitted++;
        }
      }
    } catch (RuntimeException | Error e) {
      failure = e;
    }
    // Wait for every copy before the blocks are freed, even if the heap is full.
    for (int i = 0; i < submitted; i++) {
      try (Event event = events[i]) {
        EventWait.untilEnded(event);
      } catch (RuntimeException | Error e) {
        failure = e;
      }
    }
    if (failure != null) {
      throw Exceptions.unchecked(failure);
    }
  }

  private static void copyOnHost(BufferMove each) {
    MemorySegment from = Objects.requireNonNull(each.from().block().segment());
    MemorySegment to = Objects.requireNonNull(each.to().block().segment());
    MemorySegment.copy(from, 0, to, 0, each.storage().byteSize());
  }
}
