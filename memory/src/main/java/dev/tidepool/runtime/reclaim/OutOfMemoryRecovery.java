package dev.tidepool.runtime.reclaim;

import dev.tidepool.ByteSize;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.order.MultiBufferAdmission;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.SessionExecutors;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.DeviceReservation;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What happens when memory runs out, whoever said so, a driver, the system or the manager's limit.
 * One {@linkplain RecoveryStrategy strategy} after another makes room, the cheapest first, and the
 * request is tried again as often as one gave something back: blocks on their way back, idle blocks
 * of the pools, unreachable buffers, small buffers moved together, idle buffers, those that only
 * work waits for which has not begun, and last what others use. Only then the request fails.
 *
 * <p>Bounded, as each strategy is. A strategy that itself needs memory gets it from fewer
 * strategies, which move nothing to the host, so the depth is two. Holds no lock, except that of
 * {@link MultiBufferAdmission} for work that needs several buffers at once. Work that has its
 * buffers does not need that lock.
 */
public final class OutOfMemoryRecovery {
  private static final long CLOSING_WAIT_NANOS = 2_000_000_000L;

  /**
   * How often a request is tried again while small buffers make the room for it: after each of them
   * it would cost too much.
   */
  private static final int ATTEMPTS = 8;

  private final StorageContext memory;
  private final Reclaimer room;
  private final OutOfMemoryMessage refusal;
  private final UnreachableBuffers unreachable;

  /**
   * A manager's.
   *
   * @param refusal says why a request fails
   */
  public OutOfMemoryRecovery(
      StorageContext memory,
      Reclaimer room,
      OutOfMemoryMessage refusal,
      UnreachableBuffers unreachable) {
    this.memory = memory;
    this.room = room;
    this.refusal = refusal;
    this.unreachable = unreachable;
  }

  /**
   * The request's block, after as many rungs as it takes.
   *
   * @param onDevice whether the block is of the device's memory
   * @param inWork whether it is for work that is under way
   * @param reservation that the block counts against; null for none
   */
  PooledBlock climb(
      long bytes,
      boolean onDevice,
      boolean inWork,
      @Nullable DeviceReservation reservation,
      Supplier<PooledBlock> request) {
    try {
      return request.get();
    } catch (OutOfDeviceMemoryException refused) {
      return new Climb<>(
              new MemoryRequest<>(
                  memory, room, bytes, onDevice, inWork, reservation, request, refused))
          .all();
    }
  }

  /** The block of host memory that a rung needs to make room elsewhere. */
  PooledBlock climbFromRung(long bytes, Supplier<PooledBlock> request) {
    try {
      return request.get();
    } catch (OutOfDeviceMemoryException refused) {
      return new Climb<>(
              new MemoryRequest<>(memory, room, bytes, false, true, null, request, refused))
          .fromRung();
    }
  }

  /**
   * What a request for memory of the device gets by room that can be made at once: nothing is
   * waited for. Null if that is not enough.
   */
  <T> @Nullable T climbAtOnce(long bytes, Supplier<T> request) {
    try {
      return request.get();
    } catch (OutOfDeviceMemoryException refused) {
      return new Climb<>(
              new MemoryRequest<>(memory, room, bytes, true, false, null, request, refused))
          .atOnce();
    }
  }

  /** One request on its way up; for one thread. */
  private final class Climb<T> {
    private final MemoryRequest<T> request;
    private final Eviction eviction;
    private final UnreachableBuffers.Reclaim leaks;
    // When it does not wait for closed buffers any more.
    private final long end = System.nanoTime() + CLOSING_WAIT_NANOS;
    private boolean waited;

    Climb(MemoryRequest<T> request) {
      this.request = request;
      this.eviction = new Eviction(room, request);
      this.leaks = unreachable.new Reclaim(request);
    }

    T all() {
      try (ReleaseWait wait = new ReleaseWait(memory, room, request, eviction)) {
        return up(
            List.of(
                once(this::freeClosed),
                this::waitForClosing,
                once(this::trimPools),
                leaks::free,
                once(this::joinSmallBuffers),
                eviction::free,
                eviction::freeAhead,
                wait::free,
                leaks::freeAtLast));
      }
    }

    T fromRung() {
      return up(List.of(once(this::trimPools), eviction::spill));
    }

    @Nullable T atOnce() {
      return tryUp(
          List.of(
              once(this::freeClosed),
              once(this::trimPools),
              leaks::free,
              once(this::joinSmallBuffers),
              eviction::free));
    }

    private T up(List<RecoveryStrategy> strategies) {
      T block = tryUp(strategies);
      if (block != null) {
        return block;
      }
      leaks.report();
      eviction.report();
      throw refusal.exhausted(request.bytes(), request.tried(), request.refused());
    }

    private @Nullable T tryUp(List<RecoveryStrategy> strategies) {
      long step = Math.max(1, request.bytes() / ATTEMPTS);
      T block = null;
      for (RecoveryStrategy strategy : strategies) {
        while (block == null && strategy.free(step) > 0) {
          block = request.attemptOrTrim();
        }
        if (block != null) {
          eviction.succeeded();
          return block;
        }
      }
      // What others gave back meanwhile, and nobody counted here.
      return request.attempt();
    }

    /** What has nothing more to give after the first time. */
    private static RecoveryStrategy once(LongSupplier free) {
      boolean[] done = new boolean[1];
      return _ -> {
        long freed = done[0] ? 0 : free.getAsLong();
        done[0] = true;
        return freed;
      };
    }

    /** Frees what is closed and waits for a thread only. */
    private long freeClosed() {
      return memory.releases().pending().all().stream()
          .filter(room::freeAhead)
          .mapToLong(Storage::byteSize)
          .sum();
    }

    /**
     * Waits for closed buffers whose last operations are under way, for the one first that was
     * closed first. Threads of the library do not wait here, because those operations may be queued
     * behind theirs.
     */
    private long waitForClosing(long bytes) {
      List<Storage> closing = memory.releases().pending().all();
      if (System.nanoTime() - end >= 0
          || closing.isEmpty()
          || request.isInWork()
          || SessionExecutors.isWorker(Thread.currentThread())) {
        return 0;
      }
      long freed = 0;
      for (Storage storage : closing.reversed()) {
        for (Operation operation : storage.unfinished()) {
          freed += operation.await(end - System.nanoTime()) ? storage.byteSize() : 0;
        }
        if (freed >= bytes) {
          break;
        }
      }
      if (freed > 0 && !waited) {
        waited = true;
        request.tried("waited for buffers that were closing");
      }
      return freed;
    }

    private long trimPools() {
      long trimmed = request.trim();
      if (trimmed > 0) {
        request.tried("trimmed " + ByteSize.format(trimmed) + " from pools");
      }
      return trimmed;
    }

    private long joinSmallBuffers() {
      long returned =
          request.isOwnOnly() ? room.defragment().returnedBytes() : room.defragmentDevice();
      if (returned > 0) {
        request.tried("moved small buffers together, which gave back " + ByteSize.format(returned));
      }
      return returned;
    }
  }
}
