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
import dev.tidepool.runtime.threads.SessionExecutors;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Event;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One pass that moves the device copies of idle buffers together. The pools say which block goes
 * where. This moves the bytes, in the order of the buffers' operations, and never waits: a buffer
 * with operations under way stays, and so does one that is mapped, or whose address a user has.
 * Used by one thread.
 */
final class Defragmenter implements BlockMover {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  private long buffers;
  private long bytes;

  private Defragmenter() {}

  /** Defragments the pools of a manager; shared ones too, with all buffers in them. */
  static Defragmentation run(MemoryPools pools) {
    Defragmenter pass = new Defragmenter();
    long returned = pools.compactDevice(pass);
    return new Defragmentation(pass.buffers, pass.bytes, returned);
  }

  /** A buffer on its way. */
  private record Relocation(Storage storage, PooledBlock from, PooledBlock to) {
    BackingBlocks backing() {
      return storage.coherence().backing();
    }

    boolean isPossible() {
      return backing().isMovableFrom(from)
          && !storage.isHeldOnDevice()
          && (!backing().isShared() || !storage.isHeldByHost());
    }
  }

  @Override
  public boolean move(List<Move> moves) {
    List<Relocation> relocations = new ArrayList<>();
    for (Move move : moves) {
      Storage storage = holder(move.from());
      if (storage == null) {
        return false;
      }
      relocations.add(new Relocation(storage, move.from(), move.to()));
    }
    AtomicBoolean moved = new AtomicBoolean();
    Operation operation =
        Operation.moving(
            relocations.stream().map(Relocation::storage).toList(),
            SessionExecutors.evictions(),
            () -> move(relocations, moved));
    try {
      operation.performIfIdle(!Thread.currentThread().isVirtual());
    } catch (RuntimeException | Error e) {
      LOG.log(Level.WARNING, "defragmentation was stopped", e);
    }
    return moved.get();
  }

  private static @Nullable Storage holder(PooledBlock block) {
    BufferCore core = BufferCore.of(block);
    return core == null ? null : core.storageUnlessClosed();
  }

  private void move(List<Relocation> relocations, AtomicBoolean moved) {
    if (!relocations.stream().allMatch(Relocation::isPossible)) {
      return;
    }
    // All that is needed for the change, which nothing may stop half-way.
    List<Lease> leases = relocations.stream().map(each -> new Lease(each.to())).toList();
    try {
      copyAll(relocations);
    } catch (RuntimeException | Error e) {
      LOG.log(Level.DEBUG, "buffers could not be moved together; they stay where they are", e);
      relocations.forEach(each -> clean(each, each.to()));
      return;
    }
    for (int i = 0; i < relocations.size(); i++) {
      Relocation each = relocations.get(i);
      each.to().occupy(each.storage().core());
      each.storage().context().registry().relocated(each.storage().core());
      each.backing().moved(leases.get(i)).surrender();
      buffers++;
      bytes += each.storage().byteSize();
    }
    moved.set(true);
    relocations.forEach(each -> clean(each, each.from()));
  }

  /** Overwrites a block that no buffer has any more, if the options ask for that. */
  private static void clean(Relocation each, PooledBlock abandoned) {
    var _ = each.storage().context().scrubber().overwroteAbandoned(abandoned.block());
  }

  /** Copies all bytes, concurrently where the device does it. No operation uses them meanwhile. */
  private static void copyAll(List<Relocation> relocations) {
    List<Event> events = new ArrayList<>();
    Throwable failure = null;
    try {
      for (Relocation each : relocations) {
        if (each.backing().isShared()) {
          copyOnHost(each);
        } else {
          StorageContext owner = each.storage().context();
          Block from = each.from().block();
          events.add(
              owner.link().startCopy(from, 0, each.to().block(), 0, each.storage().byteSize()));
        }
      }
    } catch (RuntimeException | Error e) {
      failure = e;
    }
    for (Event event : events) {
      try (event) {
        event.await();
      } catch (RuntimeException e) {
        failure = e;
      }
    }
    if (failure != null) {
      throw Exceptions.unchecked(failure);
    }
  }

  private static void copyOnHost(Relocation each) {
    MemorySegment from = Objects.requireNonNull(each.from().block().segment());
    MemorySegment to = Objects.requireNonNull(each.to().block().segment());
    MemorySegment.copy(from, 0, to, 0, each.storage().byteSize());
  }
}
