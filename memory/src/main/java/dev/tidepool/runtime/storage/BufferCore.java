package dev.tidepool.runtime.storage;

import dev.tidepool.Allocation;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.metering.LeakGroup;
import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.support.FieldHandle;
import dev.tidepool.spi.support.VisibleText;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The ownership of one buffer's memory, from the allocation to the close.
 *
 * <p>A buffer is dormant at first: it has no storage, only its handle and fields in its block.
 * Short copies and segments of its memory need no storage. Closing a dormant buffer returns the
 * block with one exchange. Any other use creates the {@link Storage}, which keeps order, coherence
 * and mappings from then on. One atomic exchange in the block decides whether the close or the use
 * is first.
 *
 * <p>Live buffers are found through their blocks. The tenant of a block is the core of its buffer
 * once the buffer has a storage; before that, fields of the block describe the dormant buffer.
 * {@link #seen} creates a core from these fields, which is {@linkplain #equals equal} to the
 * handle's own core. If the found core creates the storage, the handle's core gets it from the
 * registry. A core references no handle.
 */
public final class BufferCore {
  private static final VarHandle STORAGE =
      FieldHandle.of(MethodHandles.lookup(), "storage", Object.class);

  /** The value of {@code storage} after a dormant buffer was closed. */
  private static final Object CLOSED = new Object();

  private final ElementType<?> type;
  private final long length;
  private final Allocation allocation;
  private final LeakGroup leakGroup;

  /** The first block of the buffer; null if that is not a block of a pool. */
  private final @Nullable PooledBlock block;

  /** The buffer's number among the dormant tenants of the block. */
  private final long number;

  /** Whether this was created from a block's fields; the handle's core is equal to this. */
  private final boolean found;

  private volatile @Nullable Object storage;

  private BufferCore(
      ElementType<?> type,
      long length,
      Allocation allocation,
      LeakGroup leakGroup,
      @Nullable PooledBlock block,
      long number,
      boolean found) {
    this.type = type;
    this.length = length;
    this.allocation = allocation;
    this.leakGroup = leakGroup;
    this.block = block;
    this.number = number;
    this.found = found;
  }

  /** Returns the core that a handle creates, once, for the dormant tenant with that number. */
  public static BufferCore dormant(
      ElementType<?> type,
      long length,
      Allocation allocation,
      LeakGroup leakGroup,
      PooledBlock block,
      long number) {
    return new BufferCore(type, length, allocation, leakGroup, block, number, false);
  }

  /** Returns a core without a block; {@link #settle} sets its storage. */
  public static BufferCore withoutBlock(
      ElementType<?> type, long length, Allocation allocation, LeakGroup leakGroup) {
    return new BufferCore(type, length, allocation, leakGroup, null, 0, false);
  }

  /** Returns the core of the buffer in a block; null if there is none. */
  public static @Nullable BufferCore of(PooledBlock block) {
    BufferCore found = seen(block);
    if (found == null && block.isInTransition()) {
      // The buffer may be about to get its storage, or may be being allocated.
      synchronized (block) {
        found = seen(block);
      }
    }
    return found;
  }

  /** Like {@link #of}, but does not wait for an allocation or storage in progress. */
  public static @Nullable BufferCore seen(PooledBlock block) {
    PooledBlock.Dormant buffer = block.dormant();
    if (buffer == null) {
      return block.tenant() instanceof BufferCore core ? core : null;
    }
    return new BufferCore(
        buffer.type(),
        buffer.length(),
        buffer.allocation(),
        (LeakGroup) buffer.watch(),
        block,
        buffer.number(),
        true);
  }

  /** Returns the context that the manager has stored in the leak group. */
  public StorageContext context() {
    return (StorageContext) leakGroup.context();
  }

  public String tag() {
    return allocation.tag();
  }

  /** Returns the number of elements of the whole buffer. */
  public long length() {
    return length;
  }

  public Allocation allocation() {
    return allocation;
  }

  public MemoryLocation location() {
    return allocation.location();
  }

  public ElementType<?> type() {
    return type;
  }

  public LeakGroup leakGroup() {
    return leakGroup;
  }

  public long byteSize() {
    return length * type.byteSize();
  }

  /** Returns the storage; creates it if there is none. */
  public Storage storage() {
    return storage instanceof Storage present ? present : orMadeStorage();
  }

  private Storage orMadeStorage() {
    Storage made = storageUnlessClosed();
    if (made == null) {
      throw closed();
    }
    return made;
  }

  /**
   * Returns the storage, creating it if there is none; null if the buffer was closed while dormant.
   */
  public @Nullable Storage storageUnlessClosed() {
    if (storage == null && block != null) {
      synchronized (block) {
        if (storage == null) {
          storage = makeStorage(block);
        }
      }
    }
    return storage instanceof Storage present ? present : null;
  }

  /** Creates the storage, or finds the one of another core; the block's monitor is held. */
  private Object makeStorage(PooledBlock held) {
    if (held.isDormant(number)) {
      // Nothing may fail between the end of the dormancy and the new tenant.
      StackReserve.check();
      BackingBlocks backing =
          BackingBlocks.initial(context().device(), location(), byteSize(), new Lease(held));
      Storage fresh = new Storage(this, backing, true);
      if (found) {
        // Before the exchange, so that the handle's own core finds this storage after it.
        context().registry().madeStorage(this, fresh);
      }
      boolean ended = false;
      try {
        ended = held.endDormancy(number);
      } finally {
        if (!ended) {
          forgetMadeStorage();
        }
      }
      if (ended) {
        fresh.usedDormant(held.copies(number), held.copyTick(), held.isExposed(number));
        held.occupy(this);
        return fresh;
      }
    }
    Storage made = context().registry().storageMadeFor(this);
    if (made == null && held.tenant() instanceof BufferCore other && other.equals(this)) {
      made = other.storageIfAny();
    }
    return made == null ? CLOSED : made;
  }

  /** Removes the storage from the registry: no core needs to find it any more. */
  void forgetMadeStorage() {
    if (found) {
      context().registry().forgetMadeStorage(this);
    }
  }

  /** Sets the storage, unless there is one or the buffer is closed. */
  public void settle(Storage fresh) {
    STORAGE.compareAndSet(this, null, fresh);
  }

  /** Returns the storage; null if the buffer is dormant, or was closed while dormant. */
  public @Nullable Storage storageIfAny() {
    if (storage == null && block != null && !block.isDormant(number)) {
      return storageUnlessClosed();
    }
    return storage instanceof Storage present ? present : null;
  }

  /** Returns about the {@link System#nanoTime()} of the last use; creates no storage. */
  public long lastUse() {
    Storage present = storageIfAny();
    if (present != null) {
      return present.lastUse();
    }
    return block == null || block.copies(number) == 0
        ? leakGroup.createdNanos()
        : context().dormantRelease().nanosOf(block.copyTick());
  }

  /**
   * Returns whether the buffer is open and no operation on it is queued, though its bytes may be
   * moving; creates no storage.
   */
  public boolean isUnasked() {
    Storage present = storageIfAny();
    return present == null ? isDormant() : present.isUnasked();
  }

  /** Returns whether the buffer has memory that could be spilled; creates no storage. */
  public boolean isSpillable() {
    Storage present = storageIfAny();
    return present == null
        ? byteSize() > 0 && (block == null || !block.isExposed(number))
        : present.coherence().isSpillable();
  }

  /** Returns whether the buffer is open and has no storage yet. */
  private boolean isDormant() {
    return storage == null && block != null && block.isDormant(number);
  }

  /** Returns where the newest bytes are. */
  public BufferState state() {
    Storage present = storageIfAny();
    if (present != null) {
      return present.coherence().state().get();
    }
    BufferState state = initialState();
    boolean written = state != BufferState.HOST_ONLY && block != null && block.isExposed(number);
    return written ? BufferState.HOST_DIRTY : state;
  }

  BufferState initialState() {
    return switch (location()) {
      case DEVICE -> BufferState.DEVICE_ONLY;
      case HOST, PINNED -> BufferState.HOST_ONLY;
      case UNIFIED -> BufferState.SYNCHRONIZED;
    };
  }

  /** Fails if the buffer is closed. */
  public void checkOpen() {
    if (storage == null && (block == null || block.isDormant(number))) {
      return;
    }
    Storage present = storageIfAny();
    if (present == null) {
      throw closed();
    }
    present.lifetime().checkOpen();
  }

  IllegalStateException closed() {
    return new IllegalStateException(
        this
            + (context().state().isClosed()
                ? " is closed, and so is its memory manager; close that later"
                : " is closed, and so are its slices and views; allocate another, or close it"
                    + " later"));
  }

  /** Closes the buffer, to be freed after operations and mappings; returns whether it was open. */
  public boolean close() {
    if (closedDormant(false)) {
      return true;
    }
    Storage present = storageIfAny();
    return present != null && present.lifetime().close();
  }

  /** Closes the buffer because no handle is left; returns whether it was open. */
  public boolean reclaim() {
    if (closedDormant(true)) {
      return true;
    }
    Storage present = storageIfAny();
    return present != null && present.lifetime().reclaim();
  }

  private boolean closedDormant(boolean leaked) {
    return block != null
        && storage == null
        && context().dormantRelease().freeDormant(block, number, tag(), byteSize(), leaked);
  }

  /** Returns whether the buffer is closed and nothing keeps its memory. */
  public boolean isClosing() {
    Storage present = storageIfAny();
    return present != null ? present.lifetime().isClosing() : storage != null;
  }

  /** Returns whether the buffer is closed and a mapping or a hold keeps its memory. */
  boolean awaitsMapping() {
    Storage present = storageIfAny();
    return present != null && present.lifetime().awaitsMapping();
  }

  /** Returns the stack of the allocation, a line for each frame; empty if it is not recorded. */
  public String site() {
    return leakGroup.site();
  }

  /** Returns the approximate age. */
  public long ageNanos() {
    return System.nanoTime() - leakGroup.createdNanos();
  }

  public BufferInfo info() {
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

  /** Returns true if both are cores of one buffer. */
  @Override
  @SuppressWarnings("ReferenceEquality") // identity of the block
  public boolean equals(@Nullable Object other) {
    return this == other
        || (block != null
            && other instanceof BufferCore core
            && core.block == block
            && core.number == number);
  }

  @Override
  public int hashCode() {
    return block == null
        ? System.identityHashCode(this)
        : 31 * System.identityHashCode(block) + Long.hashCode(number);
  }

  @Override
  public String toString() {
    return "buffer"
        + (allocation.tag().isEmpty() ? "" : " '" + VisibleText.of(allocation.tag()) + "'")
        + " ("
        + type
        + "["
        + length
        + "] in "
        + location()
        + ")";
  }
}
