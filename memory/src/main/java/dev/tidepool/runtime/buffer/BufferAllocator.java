package dev.tidepool.runtime.buffer;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.context.ManagerState;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.metering.AllocationCounters;
import dev.tidepool.runtime.metering.AllocationLedger;
import dev.tidepool.runtime.metering.AllocationTrace;
import dev.tidepool.runtime.metering.LeakDetector;
import dev.tidepool.runtime.metering.LeakGroup;
import dev.tidepool.runtime.reclaim.BlockAllocator;
import dev.tidepool.runtime.storage.DormantRelease;
import dev.tidepool.runtime.storage.Storage;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.threads.FutureResult;
import dev.tidepool.runtime.threads.StackReserve;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Allocates a manager's buffers over blocks of its pools. The fast path needs one handle and one
 * idle block. The slow path does everything else. Thread-safe.
 */
public final class BufferAllocator {
  private final StorageContext context;
  private final BlockAllocator blocks;
  // Pools by location; null if blocks may not be reused. Kept here, because each dereference on the
  // way to a block costs time.
  private final @Nullable MemoryPool[] near;
  // The pools of each NUMA node; null if there is one node.
  private final MemoryPool @Nullable [][] nearByNode;
  private final LeakDetector leakDetector;
  private final AllocationLedger ledger;
  private final AllocationCounters counters;
  private final DormantRelease dormantRelease;
  private final ManagerState state;
  private final @Nullable AllocationTrace trace;
  // Whether buffers have a storage from the start.
  private final boolean makesStorages;

  public BufferAllocator(
      StorageContext context,
      BlockAllocator blocks,
      LeakDetector leakDetector,
      @Nullable AllocationTrace trace) {
    this.context = context;
    this.blocks = blocks;
    this.leakDetector = leakDetector;
    this.ledger = context.ledger();
    this.counters = context.counters();
    this.dormantRelease = context.dormantRelease();
    this.state = context.state();
    this.trace = trace;
    this.makesStorages = context.isParanoid() || trace != null;
    MemoryPool[][] pools = blocks.poolsByLocation();
    boolean mayReuse = blocks.areKept() && !makesStorages && ledger.history() == null;
    this.near = mayReuse ? pools[0] : new MemoryPool[pools[0].length];
    this.nearByNode = mayReuse && pools.length > 1 ? pools : null;
  }

  @SuppressWarnings("EnumOrdinal") // a map needs three more loads
  public <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length, Allocation allocation) {
    Objects.requireNonNull(allocation, "allocation");
    long bytes = Objects.requireNonNull(type, "type").bytes(length);
    StackReserve.checkForTwo();
    LeakGroup.Token sampled = leakDetector.sampled(bytes);
    MemoryPool pool =
        sampled == null && allocation.isPlain() ? here()[allocation.location().ordinal()] : null;
    UnifiedBuffer<A> buffer = pool == null ? null : reuse(pool, type, length, allocation, bytes);
    return buffer == null ? allocate(type, length, allocation, bytes, sampled) : buffer;
  }

  /** Returns the pools of the NUMA node that the caller runs on. */
  private @Nullable MemoryPool[] here() {
    MemoryPool[][] byNode = nearByNode;
    return byNode == null ? near : byNode[blocks.placeOfCaller()];
  }

  /**
   * Returns a plain buffer over an idle block near the caller or in a shared list; null if there is
   * none.
   */
  private <A> @Nullable UnifiedBuffer<A> reuse(
      MemoryPool pool, ElementType<A> type, long length, Allocation allocation, long bytes) {
    Thread thread = Thread.currentThread();
    AllocationCounters.Tally tally = counters.of(thread);
    LeakGroup.Token token = leakDetector.join(tally);
    // Created before the block is taken: the exchanges that take and return a block stall until
    // earlier stores are visible. And an error here cannot lose the block.
    RootBuffer<A> buffer = new RootBuffer<>(dormantRelease, token, type, length, allocation);
    PooledBlock seen = pool.seenNear(bytes);
    PooledBlock block = seen != null && buffer.movesInto(seen) ? seen : shared(pool, bytes, buffer);
    if (block == null) {
      return null;
    }
    counters.allocated(tally, thread, bytes);
    buffer.occupy(block);
    if (FlightEvents.recordsAllocations()) {
      record(type, allocation, bytes);
    }
    if (state.isClosed()) {
      prepare(buffer, allocation);
    }
    return buffer;
  }

  private static @Nullable PooledBlock shared(MemoryPool pool, long bytes, RootBuffer<?> buffer) {
    PooledBlock block = pool.takeShared(bytes);
    if (block != null) {
      buffer.moveInto(block);
    }
    return block;
  }

  private void record(ElementType<?> type, Allocation allocation, long bytes) {
    FlightEvents.allocated(
        context.id(), allocation.location().name(), type.toString(), allocation.tag(), bytes);
  }

  /**
   * Allocates on the slow path, which may request memory of a driver, and wait until other threads
   * release some.
   */
  private <A> UnifiedBuffer<A> allocate(
      ElementType<A> type,
      long length,
      Allocation allocation,
      long bytes,
      LeakGroup.@Nullable Token sampled) {
    state.begin();
    try {
      return allocateInside(type, length, allocation, bytes, sampled);
    } finally {
      state.finish();
    }
  }

  private <A> UnifiedBuffer<A> allocateInside(
      ElementType<A> type,
      long length,
      Allocation allocation,
      long bytes,
      LeakGroup.@Nullable Token sampled) {
    PooledBlock block = blocks.forBuffer(bytes, allocation);
    RootBuffer<A> buffer;
    try {
      // After the block: a thread that frees memory must not hold the token of a leak group that
      // may have leaked.
      LeakGroup.Token token = sampled == null ? leakDetector.join() : sampled;
      buffer = new RootBuffer<>(dormantRelease, token, type, length, allocation);
      buffer.moveInto(block);
    } catch (Throwable e) {
      // The heap may be full. No buffer has the block yet, so it is returned here.
      block.giveBack();
      throw e;
    }
    ledger.allocated(allocation.tag(), bytes);
    buffer.occupy(block);
    if (FlightEvents.recordsAllocations()) {
      record(type, allocation, bytes);
    }
    prepare(buffer, allocation);
    return buffer;
  }

  /** Does what the fast path omits. */
  private void prepare(BufferHandle<?> buffer, Allocation allocation) {
    if (makesStorages) {
      Storage storage = buffer.storage();
      if (trace != null) {
        storage.lifetime().record(trace);
      }
    }
    try {
      // A manager that closed meanwhile may have missed this buffer.
      state.checkOpen();
      if (allocation.isZeroed()) {
        buffer.zero();
      }
    } catch (RuntimeException | Error e) {
      buffer.close();
      throw e;
    }
  }

  /**
   * Allocates on a thread of its own; closes the buffer if its future is already complete. On a
   * transfer thread it could wait for memory that only transfers release.
   */
  public <A> CompletableFuture<UnifiedBuffer<A>> allocateAsync(
      ElementType<A> type, long length, Allocation allocation) {
    Objects.requireNonNull(allocation, "allocation");
    StackReserve.check();
    // On the caller's thread, so that the stack shows the program.
    long bytes = Objects.requireNonNull(type, "type").bytes(length);
    LeakGroup.Token sampled = leakDetector.sampled(bytes);
    CompletableFuture<UnifiedBuffer<A>> future = new CompletableFuture<>();
    FutureResult<UnifiedBuffer<A>> result =
        new FutureResult<>(future, context.callbackExecutor(), UnifiedBuffer::close);
    Supplier<UnifiedBuffer<A>> work = () -> allocate(type, length, allocation, bytes, sampled);
    Runnable task =
        () -> {
          if (!future.isDone()) {
            result.compute(work);
            result.run();
          }
        };
    var _ = context.track(future);
    try {
      context.callbackExecutor().execute(task);
    } catch (RuntimeException | Error e) {
      context.untrack(future);
      throw e;
    }
    return future;
  }

  /** Returns a buffer with the elements of an array of primitives. */
  public <A> UnifiedBuffer<A> copyOf(A array, Allocation allocation) {
    @SuppressWarnings("unchecked") // the type is that of the array's class
    ElementType<A> type =
        (ElementType<A>)
            ElementType.ofArray(array.getClass())
                .orElseThrow(
                    () ->
                        new IllegalArgumentException(
                            "copyOf takes arrays of primitives, not "
                                + array.getClass().getTypeName()
                                + "; "
                                + adviceFor(array.getClass())));
    state.checkOpen();
    UnifiedBuffer<A> buffer = allocate(type, type.length(array), allocation);
    try {
      buffer.copyFrom(array);
      return buffer;
    } catch (RuntimeException | Error e) {
      buffer.close();
      throw e;
    }
  }

  /** Returns advice for a program that passed an object of an unsupported type. */
  private static String adviceFor(Class<?> type) {
    Class<?> element = type.getComponentType();
    if (element == null) {
      return Number.class.isAssignableFrom(type)
          ? "pass one number to a kernel as it is, or put it into an array of one element"
          : "allocate a buffer, and copy arrays or segments to it";
    }
    if (element == char.class) {
      return "copy the characters to a short[], and see it as ElementType.UNSIGNED_SHORT by as()";
    }
    if (element.isArray()) {
      return "allocate one buffer for all rows, and copy each row to its slice";
    }
    return element.isRecord()
        ? "allocate a buffer of ElementType.struct("
            + element.getSimpleName()
            + ".class), and copy the array to it"
        : "copy the values to an array of primitives";
  }
}
