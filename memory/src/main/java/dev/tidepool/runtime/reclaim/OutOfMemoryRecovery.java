package dev.tidepool.runtime.reclaim;

import dev.tidepool.ByteSize;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.order.MultiBufferAdmission;
import dev.tidepool.runtime.order.OrderedOperation;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.DeviceReservation;
import dev.tidepool.runtime.threads.SessionExecutors;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Frees memory if a driver, the system or the manager's limit refused a request. One {@linkplain
 * RecoveryStrategy strategy} after another frees memory, the cheapest first, and the request is
 * repeated each time memory was freed. The order is: closed buffers, at once or after a wait; idle
 * blocks of the pools; unreachable buffers; compaction of small buffers; idle buffers; buffers
 * whose queued operations have not begun; buffers in use, after a wait; and last buffers that the
 * garbage collector finds. Only then the request fails.
 *
 * <p>Bounded, because each strategy is. A strategy that needs memory itself uses fewer strategies,
 * which move nothing to the host, so the depth is two. Holds no lock, except that of {@link
 * MultiBufferAdmission} for operations that need several buffers at once. Operations that have
 * their buffers do not need that lock.
 */
public final class OutOfMemoryRecovery {
  private static final long CLOSING_WAIT_NANOS = 2_000_000_000L;

  /**
   * How often a request is repeated while small buffers free memory for it. An attempt after each
   * of them would cost too much.
   */
  private static final int ATTEMPTS = 8;

  private final StorageContext context;
  private final Reclaimer reclaimer;
  private final OutOfMemoryMessages exceptions;
  private final UnreachableBuffers unreachable;

  /**
   * Creates the recovery of one manager.
   *
   * @param exceptions creates the exception of a failed request
   */
  public OutOfMemoryRecovery(
      StorageContext context,
      Reclaimer reclaimer,
      OutOfMemoryMessages exceptions,
      UnreachableBuffers unreachable) {
    this.context = context;
    this.reclaimer = reclaimer;
    this.exceptions = exceptions;
    this.unreachable = unreachable;
  }

  /**
   * Returns the request's block, after as many strategies as necessary.
   *
   * @param onDevice whether the block is device memory
   * @param inWork whether a running operation needs the block
   * @param reservation the reservation to charge; null for none
   */
  PooledBlock recover(
      long bytes,
      boolean onDevice,
      boolean inWork,
      @Nullable DeviceReservation reservation,
      Supplier<PooledBlock> request) {
    try {
      return request.get();
    } catch (OutOfDeviceMemoryException refused) {
      checkWithinLimit(bytes, refused);
      return new Attempt<>(bytes, onDevice, inWork, reservation, request, refused).all();
    }
  }

  /** Fails at once if the limit is smaller than the request: freeing memory could not help. */
  private void checkWithinLimit(long bytes, OutOfDeviceMemoryException refused) {
    if (exceptions.isBeyondLimit(bytes)) {
      throw exceptions.beyondLimit(bytes, refused);
    }
  }

  /** Returns a block of host memory for a strategy that frees memory elsewhere. */
  PooledBlock recoverForStrategy(long bytes, Supplier<PooledBlock> request) {
    try {
      return request.get();
    } catch (OutOfDeviceMemoryException refused) {
      return new Attempt<>(bytes, false, true, null, request, refused).forStrategy();
    }
  }

  /**
   * Returns the result of a request for device memory, with memory that can be freed without a
   * wait; null if that is not enough.
   */
  <T> @Nullable T tryRecover(long bytes, Supplier<T> request) {
    try {
      return request.get();
    } catch (OutOfDeviceMemoryException refused) {
      return new Attempt<>(bytes, true, false, null, request, refused).atOnce();
    }
  }

  /** The recovery for one request; not thread-safe. */
  private final class Attempt<T> {
    private final MemoryRequest<T> request;
    private final Eviction eviction;
    private final UnreachableBuffers.Reclaim leaks;
    // When waits for closed buffers end.
    private final long end = System.nanoTime() + CLOSING_WAIT_NANOS;
    private boolean waited;

    Attempt(
        long bytes,
        boolean onDevice,
        boolean inWork,
        @Nullable DeviceReservation reservation,
        Supplier<T> supplier,
        OutOfDeviceMemoryException refused) {
      this.request =
          new MemoryRequest<>(
              context, reclaimer, bytes, onDevice, inWork, reservation, supplier, refused);
      this.eviction = new Eviction(reclaimer, request);
      this.leaks = unreachable.new Reclaim(request, new UnfinishedWork(reclaimer, request));
    }

    T all() {
      try (ReleaseWait wait = new ReleaseWait(context, reclaimer, request, eviction)) {
        return run(
            List.of(
                once(this::freeClosed),
                this::waitForClosing,
                once(this::trimPools),
                leaks::free,
                once(this::joinSmallBuffers),
                eviction::free,
                eviction::freeQueued,
                wait::free,
                leaks::freeAtLast));
      }
    }

    T forStrategy() {
      return run(List.of(once(this::trimPools), eviction::spill));
    }

    @Nullable T atOnce() {
      return tryRun(
          List.of(
              once(this::freeClosed),
              once(this::trimPools),
              leaks::free,
              once(this::joinSmallBuffers),
              eviction::free));
    }

    private T run(List<RecoveryStrategy> strategies) {
      T block = tryRun(strategies);
      if (block != null) {
        return block;
      }
      leaks.report();
      eviction.report();
      throw exceptions.exhausted(request.bytes(), request.tried(), request.refused());
    }

    private @Nullable T tryRun(List<RecoveryStrategy> strategies) {
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
      // Other threads may have freed memory, which is not counted here.
      return request.attempt();
    }

    /** Wraps a strategy that frees memory only once. */
    private static RecoveryStrategy once(LongSupplier free) {
      boolean[] done = new boolean[1];
      return _ -> {
        long freed = done[0] ? 0 : free.getAsLong();
        done[0] = true;
        return freed;
      };
    }

    /** Frees closed buffers that only wait for a thread. */
    private long freeClosed() {
      return context.pendingReleases().all().stream()
          .filter(reclaimer::freeEarly)
          .mapToLong(Storage::byteSize)
          .sum();
    }

    /**
     * Waits for closed buffers whose last operations are unfinished, in the order of their
     * requested releases. Threads that run operations do not wait here, because those operations
     * may be queued behind theirs.
     */
    private long waitForClosing(long bytes) {
      List<Storage> closing = context.pendingReleases().all();
      if (System.nanoTime() - end >= 0
          || closing.isEmpty()
          || request.isInWork()
          || SessionExecutors.isWorker(Thread.currentThread())) {
        return 0;
      }
      long freed = 0;
      for (Storage storage : closing.reversed()) {
        for (OrderedOperation operation : storage.lifetime().unfinished()) {
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
          request.isOwnOnly()
              ? reclaimer.defragment().returnedBytes()
              : reclaimer.defragmentDevice();
      if (returned > 0) {
        request.tried("moved small buffers together, which gave back " + ByteSize.format(returned));
      }
      return returned;
    }
  }
}
