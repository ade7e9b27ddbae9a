package dev.tidepool.runtime;

import dev.tidepool.Allocation;
import dev.tidepool.BufferInfo;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.pool.Lease;
import dev.tidepool.pool.PooledBlock;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One buffer's hold on its memory, from allocation to close.
 *
 * <p>A buffer that nothing was asked of yet is dormant: it has a block and nothing else, and if it
 * is closed like that, the block goes back with one exchange. The first use wakes the {@link
 * Storage}, which keeps order, coherence and mappings from then on. Which of the two comes first is
 * decided by one atomic exchange.
 *
 * <p>Blocks are occupied by the tenancy, which is how live buffers are found. It holds no handle.
 */
final class Tenancy {
  private static final VarHandle STORAGE;

  /** What stands in the place of the storage once a dormant buffer is closed. */
  private static final Object GONE = new Object();

  static {
    try {
      STORAGE = MethodHandles.lookup().findVarHandle(Tenancy.class, "storage", Object.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final AcceleratorMemory memory;
  private final ElementType<?> type;
  private final long length;
  private final Allocation allocation;
  private final Cohort cohort;
  private final @Nullable PooledBlock block;

  private volatile @Nullable Object storage;

  /** A dormant tenancy of a block that the caller has taken. */
  Tenancy(
      AcceleratorMemory memory,
      ElementType<?> type,
      long length,
      Allocation allocation,
      Cohort cohort,
      @Nullable PooledBlock block) {
    this.memory = memory;
    this.type = type;
    this.length = length;
    this.allocation = allocation;
    this.cohort = cohort;
    this.block = block;
  }

  AcceleratorMemory memory() {
    return memory;
  }

  String tag() {
    return allocation.tag();
  }

  /** Elements of the whole buffer. */
  long length() {
    return length;
  }

  Allocation allocation() {
    return allocation;
  }

  MemoryLocation location() {
    return allocation.location();
  }

  ElementType<?> type() {
    return type;
  }

  Cohort cohort() {
    return cohort;
  }

  long byteSize() {
    return length * type.byteSize();
  }

  /** The storage, woken if need be. */
  Storage storage() {
    return storage instanceof Storage awake ? awake : wake();
  }

  private Storage wake() {
    Storage awake = rouse();
    if (awake == null) {
      throw closed();
    }
    return awake;
  }

  /** The storage, woken if need be; null if the buffer was closed while it was dormant. */
  @Nullable Storage rouse() {
    PooledBlock held = block;
    if (storage == null && held != null) {
      Copies copies = memory.copies(location(), byteSize(), new Lease(held));
      settle(new Storage(this, copies, true));
    }
    return awake();
  }

  /** Gives the tenancy its storage, unless it has one or is closed. */
  void settle(Storage fresh) {
    STORAGE.compareAndSet(this, null, fresh);
  }

  /** The storage; null if the buffer is dormant, or was closed like that. */
  @Nullable Storage awake() {
    return storage instanceof Storage awake ? awake : null;
  }

  /** Where the newest bytes are. */
  BufferState state() {
    Storage awake = awake();
    return awake == null ? birthState() : awake.residency().state();
  }

  BufferState birthState() {
    return switch (location()) {
      case DEVICE -> BufferState.DEVICE_ONLY;
      case HOST, PINNED -> BufferState.HOST_ONLY;
      case UNIFIED -> BufferState.SYNCHRONIZED;
    };
  }

  /** Fails if the buffer is closed. */
  void checkOpen() {
    Object now = storage;
    if (now instanceof Storage awake) {
      awake.checkOpen();
    } else if (now != null) {
      throw closed();
    }
  }

  IllegalStateException closed() {
    return new IllegalStateException(this + " is closed; allocate another, or close it later");
  }

  /** Closes; frees once work and mappings end. Whether it was open. */
  boolean close() {
    return closedDormant() || (storage instanceof Storage awake && awake.close());
  }

  /** Closes because no handle is left. Whether it was open. */
  boolean reclaim() {
    return closedDormant() || (storage instanceof Storage awake && awake.reclaim());
  }

  private boolean closedDormant() {
    PooledBlock held = block;
    if (held == null || storage != null || !STORAGE.compareAndSet(this, null, GONE)) {
      return false;
    }
    memory.freeDormant(this, held);
    return true;
  }

  /** Whether memory is still on its way back. */
  boolean isClosing() {
    Object now = storage;
    return now instanceof Storage awake ? awake.isClosing() : now != null;
  }

  /** Whether it is closed, and an open mapping keeps its memory. */
  boolean awaitsMapping() {
    return storage instanceof Storage awake && awake.awaitsMapping();
  }

  /** The stack that allocated it, a line for each frame; empty if that is not recorded. */
  String site() {
    return cohort.site();
  }

  /** About how long ago it was allocated. */
  long ageNanos() {
    return System.nanoTime() - cohort.createdNanos();
  }

  BufferInfo info() {
    return new BufferInfo(
        allocation.tag(),
        type.toString(),
        length,
        byteSize(),
        location(),
        state(),
        Duration.ofNanos(ageNanos()),
        site());
  }

  @Override
  public String toString() {
    return "buffer"
        + (allocation.tag().isEmpty() ? "" : " '" + allocation.tag() + "'")
        + " ("
        + type
        + "["
        + length
        + "] in "
        + location()
        + ")";
  }
}
