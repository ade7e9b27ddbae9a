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
import dev.tidepool.spi.support.VisibleText;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One buffer's hold on its memory, from the allocation to the close.
 *
 * <p>A buffer is dormant at first: it has no storage, only its handle and fields in its block.
 * Short copies and segments of its memory need no storage. If the buffer is closed then, the block
 * goes back with one exchange. Any other use makes the {@link Storage}, which keeps order,
 * coherence and mappings from then on. One atomic exchange, in the block, decides which of the two
 * is first.
 *
 * <p>The tenant of a block is the core of the buffer that has it, once that has a storage; before
 * that, fields of the block describe the dormant buffer. So live buffers can be found: a core is
 * made from these fields, and is {@linkplain #equals equal} to the one that the handle has or will
 * make. If the core that was found makes the storage, the core of the handle gets it from the
 * registry. A core holds no handle.
 */
public final class BufferCore {
  private static final VarHandle STORAGE;

  /** The value of the storage once a dormant buffer is closed. */
  private static final Object CLOSED = new Object();

  static {
    try {
      STORAGE = MethodHandles.lookup().findVarHandle(BufferCore.class, "storage", Object.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final ElementType<?> type;
  private final long length;
  private final Allocation allocation;
  private final LeakGroup leakGroup;

  /** The block that it began with; null if that is no block of a pool. */
  private final @Nullable PooledBlock block;

  /** Its number among the dormant tenants of the block. */
  private final long number;

  /** Whether it was made from a block's fields: the handle has another one, equal to it. */
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

  /** Returns the core that a handle makes, once, for the dormant tenant with that number. */
  public static BufferCore dormant(
      ElementType<?> type,
      long length,
      Allocation allocation,
      LeakGroup leakGroup,
      PooledBlock block,
      long number) {
    return new BufferCore(type, length, allocation, leakGroup, block, number, false);
  }

  /** Returns a core that has no block, and is {@linkplain #settle given} its storage. */
  public static BufferCore withoutBlock(
      ElementType<?> type, long length, Allocation allocation, LeakGroup leakGroup) {
    return new BufferCore(type, length, allocation, leakGroup, null, 0, false);
  }

  /** Returns the core of the buffer that has a block; null if none has. */
  public static @Nullable BufferCore of(PooledBlock block) {
    BufferCore found = seen(block);
    if (found == null && block.isInTransition()) {
      // The buffer may be about to get its storage, or be made just now.
      synchronized (block) {
        found = seen(block);
      }
    }
    return found;
  }

  /** Like {@link #of}, but does not wait for a buffer that gets its storage or is being made. */
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

  /** Returns what its manager has given its leak group. */
  public StorageContext context() {
    return (StorageContext) leakGroup.context();
  }

  public String tag() {
    return allocation.tag();
  }

  /** Elements of the whole buffer. */
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

  /** Returns the storage, which is made if there is none. */
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
   * Returns the storage, which is made if there is none; null if the buffer was closed while it was
   * dormant.
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

  /** Makes the storage, or finds the one that was made; the block's monitor is held. */
  private Object makeStorage(PooledBlock held) {
    if (held.isDormant(number)) {
      // Between the end of the dormancy and the new tenant nothing may fail.
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

  /** Its storage has ended: it will not be looked for any more. */
  void forgetMadeStorage() {
    if (found) {
      context().registry().forgetMadeStorage(this);
    }
  }

  /** Gives the buffer core its storage, unless it has one or is closed. */
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

  /** About when it was used last, in terms of {@link System#nanoTime()}; makes no storage. */
  public long lastUse() {
    Storage present = storageIfAny();
    if (present != null) {
      return present.lastUse();
    }
    return block == null || block.copies(number) == 0
        ? leakGroup.createdNanos()
        : context().releaser().nanosOf(block.copyTick());
  }

  /**
   * Returns whether it is open, and nothing but a move of its bytes is under way or asked for;
   * makes no storage.
   */
  public boolean isUnasked() {
    Storage present = storageIfAny();
    return present == null ? isDormant() : present.isUnasked();
  }

  /** Returns whether it has memory that could go to the spill file; makes no storage. */
  public boolean isSpillable() {
    Storage present = storageIfAny();
    return present == null
        ? byteSize() > 0 && (block == null || !block.isExposed(number))
        : present.coherence().isSpillable();
  }

  /** Returns whether it has no storage yet. */
  boolean isDormant() {
    return storage == null && block != null && block.isDormant(number);
  }

  /** Where the newest bytes are. */
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
    return new IllegalStateException(this + " is closed; allocate another, or close it later");
  }

  /** Closes, and frees once work and mappings have ended; returns whether it was open. */
  public boolean close() {
    if (closedDormant(false)) {
      return true;
    }
    Storage present = storageIfAny();
    return present != null && present.lifetime().close();
  }

  /** Closes because no handle is left; returns whether it was open. */
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
        && context().releaser().freeDormant(block, number, tag(), byteSize(), leaked);
  }

  /** Returns whether memory is still on its way back. */
  public boolean isClosing() {
    Storage present = storageIfAny();
    return present != null ? present.lifetime().isClosing() : storage != null;
  }

  /** Returns whether it is closed, and an open mapping keeps its memory. */
  boolean awaitsMapping() {
    Storage present = storageIfAny();
    return present != null && present.lifetime().awaitsMapping();
  }

  /** Returns the stack that allocated it, a line for each frame; empty if that is not recorded. */
  public String site() {
    return leakGroup.site();
  }

  /** About how long ago it was allocated. */
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

  /** Returns true if both are of one buffer. */
  @Override
  @SuppressWarnings("ReferenceEquality") // the very block is meant
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
