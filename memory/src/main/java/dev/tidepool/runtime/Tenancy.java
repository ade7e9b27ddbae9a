package dev.tidepool.runtime;

import dev.tidepool.Allocation;
import dev.tidepool.BufferState;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.pool.Lease;
import dev.tidepool.pool.PooledBlock;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One buffer's hold on its memory, from the first use to the close.
 *
 * <p>A buffer that nothing was asked of yet is dormant: it has a block and nothing else, not even
 * this, and if it is closed like that, the block goes back with one exchange. The first use wakes
 * the {@link Storage}, which keeps order, coherence and mappings from then on. Which of the two
 * comes first is decided by one atomic exchange, in the block.
 *
 * <p>Blocks are occupied by the tenancy of a buffer that is awake, and hold notes of a dormant one;
 * so live buffers are found, and a tenancy is made from the notes that {@linkplain #equals is} the
 * one that the handle has or will make, which the block does not know. If it is woken by who found
 * it, the handle's own finds its storage in the manager. It holds no handle.
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

  private final ElementType<?> type;
  private final long length;
  private final Allocation allocation;
  private final Cohort cohort;

  /** What it was born with; null if that is no block of a pool. */
  private final @Nullable PooledBlock block;

  /** Its number among the block's dormant tenants. */
  private final long number;

  /** Whether it was made from a block's notes: the handle has another one, equal to it. */
  private final boolean found;

  private volatile @Nullable Object storage;

  private Tenancy(
      ElementType<?> type,
      long length,
      Allocation allocation,
      Cohort cohort,
      @Nullable PooledBlock block,
      long number,
      boolean found) {
    this.type = type;
    this.length = length;
    this.allocation = allocation;
    this.cohort = cohort;
    this.block = block;
    this.number = number;
    this.found = found;
  }

  /** The one that a handle makes, once, of the dormant tenant of a block with that number. */
  static Tenancy dormant(
      ElementType<?> type,
      long length,
      Allocation allocation,
      Cohort cohort,
      PooledBlock block,
      long number) {
    return new Tenancy(type, length, allocation, cohort, block, number, false);
  }

  /**
   * Takes over the block of a closed buffer that kernels still use, and is awake from the start:
   * its work comes behind theirs. For one {@linkplain #withoutBlock without} a block.
   */
  void succeed(Tenancy last, PooledBlock claimed) {
    Copies copies = Copies.atBirth(memory().device(), location(), byteSize(), new Lease(claimed));
    Storage fresh = new Storage(this, copies, true);
    last.succession().passTo(fresh);
    settle(fresh);
    claimed.occupy(this);
  }

  /** The block that was claimed from this closed buffer gets no next owner. */
  void giveUpSuccession() {
    succession().abandon();
  }

  private Succession succession() {
    return Objects.requireNonNull(storage().succession(), "who has it offered it");
  }

  /** One that has no block, and is {@linkplain #settle given} its storage. */
  static Tenancy withoutBlock(
      ElementType<?> type, long length, Allocation allocation, Cohort cohort) {
    return new Tenancy(type, length, allocation, cohort, null, 0, false);
  }

  /** The buffer that has a block; null if none has. */
  static @Nullable Tenancy of(PooledBlock block) {
    Tenancy found = find(block);
    if (found == null && block.isOnItsWay()) {
      // It may be waking up, or only now be born.
      synchronized (block) {
        found = find(block);
      }
    }
    return found;
  }

  /** Like {@link #of}, but does not wait for a buffer that is waking up or being made. */
  static @Nullable Tenancy seen(PooledBlock block) {
    return find(block);
  }

  private static @Nullable Tenancy find(PooledBlock block) {
    PooledBlock.Dormant notes = block.dormant();
    if (notes == null) {
      return block.tenant() instanceof Tenancy tenancy ? tenancy : null;
    }
    return new Tenancy(
        notes.type(),
        notes.length(),
        notes.allocation(),
        (Cohort) notes.watch(),
        block,
        notes.number(),
        true);
  }

  /** What its manager has given its cohort. */
  StorageContext memory() {
    return (StorageContext) cohort.memory();
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
    if (storage == null && block != null) {
      synchronized (block) {
        if (storage == null) {
          storage = rouse(block);
        }
      }
    }
    return storage instanceof Storage awake ? awake : null;
  }

  /** Ends the dormancy, or finds who did; the block's monitor is held. */
  private Object rouse(PooledBlock held) {
    if (held.isDormant(number)) {
      Copies copies = Copies.atBirth(memory().device(), location(), byteSize(), new Lease(held));
      Storage fresh = new Storage(this, copies, true);
      if (found) {
        // Before the exchange: the handle's tenancy then finds this, or somebody dormant.
        memory().registry().roused(this, fresh);
      }
      boolean ended = false;
      try {
        ended = held.endDormancy(number);
      } finally {
        if (!ended) {
          forgetRoused();
        }
      }
      if (ended) {
        fresh.copiedDormant(held.copies(number), held.copyTick());
        held.occupy(this);
        return fresh;
      }
    }
    Storage roused = memory().registry().roused(this);
    if (roused == null && held.tenant() instanceof Tenancy other && other.equals(this)) {
      roused = other.awake();
    }
    return roused == null ? GONE : roused;
  }

  /** Its storage's end: nobody will look for it any more. */
  void forgetRoused() {
    if (found) {
      memory().registry().forgetRoused(this);
    }
  }

  /** Gives the tenancy its storage, unless it has one or is closed. */
  void settle(Storage fresh) {
    STORAGE.compareAndSet(this, null, fresh);
  }

  /** The storage; null if the buffer is dormant, or was closed like that. */
  @Nullable Storage awake() {
    if (storage == null && block != null && !block.isDormant(number)) {
      return rouse();
    }
    return storage instanceof Storage awake ? awake : null;
  }

  /** About when it was used last, in terms of {@link System#nanoTime()}; wakes nothing. */
  long lastUse() {
    Storage awake = awake();
    if (awake != null) {
      return awake.lastUse();
    }
    return block == null || block.copies(number) == 0
        ? cohort.createdNanos()
        : memory().releases().nanosOf(block.copyTick());
  }

  /**
   * Whether it is open, and nothing but a move of its bytes is under way or asked for; wakes
   * nothing.
   */
  boolean isUnasked() {
    Storage awake = awake();
    return awake == null ? isDormant() : awake.isUnasked();
  }

  /** Whether it has memory that could go to the spill file; wakes nothing. */
  boolean isSpillable() {
    Storage awake = awake();
    return awake == null ? byteSize() > 0 : awake.residency().isSpillable();
  }

  /** Whether nothing was asked of it yet but copies in place. */
  boolean isDormant() {
    return storage == null && block != null && block.isDormant(number);
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
    if (storage == null && (block == null || block.isDormant(number))) {
      return;
    }
    Storage awake = awake();
    if (awake == null) {
      throw closed();
    }
    awake.checkOpen();
  }

  IllegalStateException closed() {
    return new IllegalStateException(this + " is closed; allocate another, or close it later");
  }

  /** Closes; frees once work and mappings end. Whether it was open. */
  boolean close() {
    if (closedDormant()) {
      return true;
    }
    Storage awake = awake();
    return awake != null && awake.close();
  }

  /** Closes because no handle is left. Whether it was open. */
  boolean reclaim() {
    if (closedDormant()) {
      return true;
    }
    Storage awake = awake();
    return awake != null && awake.reclaim();
  }

  private boolean closedDormant() {
    return block != null && storage == null && memory().releases().freeDormant(this, block, number);
  }

  /** Whether memory is still on its way back. */
  boolean isClosing() {
    Storage awake = awake();
    return awake != null ? awake.isClosing() : storage != null;
  }

  /** Whether it is closed, and an open mapping keeps its memory. */
  boolean awaitsMapping() {
    Storage awake = awake();
    return awake != null && awake.awaitsMapping();
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

  /** Whether both are one buffer's. */
  @Override
  @SuppressWarnings("ReferenceEquality") // the very block is meant
  public boolean equals(@Nullable Object other) {
    return this == other
        || (block != null
            && other instanceof Tenancy tenancy
            && tenancy.block == block
            && tenancy.number == number);
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
