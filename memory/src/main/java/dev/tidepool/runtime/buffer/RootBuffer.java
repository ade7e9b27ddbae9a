package dev.tidepool.runtime.buffer;

import dev.tidepool.Allocation;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.metering.LeakGroup;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.DormantRelease;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.support.FieldHandle;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The handle on a whole buffer; closing the handle closes the buffer.
 *
 * <p>A dormant buffer consists of this handle and fields in its block; its {@link BufferCore} is
 * created on demand. So an allocation creates one object. A buffer that was unused, or used only
 * for short copies and as a segment of host memory, is closed with one exchange.
 */
final class RootBuffer<A> extends BufferHandle<A> {
  private static final VarHandle CORE =
      FieldHandle.of(MethodHandles.lookup(), "core", BufferCore.class);

  // Also reachable through the leak group; this field saves each close some loads.
  private final DormantRelease dormantRelease;
  private final Allocation allocation;
  private final long length;

  // Written before other threads have this handle. A handle without a block has a core.
  private @Nullable PooledBlock block;
  private long number;

  private volatile @Nullable BufferCore core;

  /** Creates the handle of a dormant buffer; {@link #moveInto} follows. */
  RootBuffer(
      DormantRelease dormantRelease,
      LeakGroup.Token token,
      ElementType<A> type,
      long length,
      Allocation allocation) {
    super(token, type);
    this.dormantRelease = dormantRelease;
    this.length = length;
    this.allocation = allocation;
  }

  /** Creates the handle of a buffer with a storage. */
  RootBuffer(BufferCore core, LeakGroup.Token token, ElementType<A> type) {
    this(core.context().dormantRelease(), token, type, core.length(), core.allocation());
    this.core = core;
    // Visible to every thread that has the handle, like a final field.
    VarHandle.storeStoreFence();
  }

  /** Makes this buffer the next dormant tenant of a block that the caller has taken. */
  void moveInto(PooledBlock taken) {
    block = taken;
    number = taken.nextDormant();
  }

  /** Moves into a block that was seen near the caller; returns false if it was taken meanwhile. */
  boolean movesInto(PooledBlock seen) {
    moveInto(seen);
    return seen.takeNear(number);
  }

  /** Publishes that the block has a tenant. */
  void occupy(PooledBlock taken) {
    // Makes block and number visible to every thread that has the handle, like final fields.
    VarHandle.storeStoreFence();
    taken.occupyDormant(number, type(), length, allocation, token().leakGroup());
  }

  @Override
  public BufferCore core() {
    BufferCore known = core;
    return known == null ? makeCore() : known;
  }

  private BufferCore makeCore() {
    BufferCore fresh =
        BufferCore.dormant(
            type(),
            length,
            allocation,
            token().leakGroup(),
            Objects.requireNonNull(block, "a buffer without a block has a core"),
            number);
    BufferCore other = (BufferCore) CORE.compareAndExchange(this, null, fresh);
    return other == null ? fresh : other;
  }

  @Override
  boolean copyDormant(boolean writing, A array, int start, long offset, int count) {
    PooledBlock held = block;
    if (core != null
        || held == null
        // A write changes the state of unified memory.
        || (writing && allocation.location() == MemoryLocation.UNIFIED)) {
      return false;
    }
    MemorySegment bytes = hostBytes(held);
    if (bytes == null || !held.beginCopy(number, dormantRelease.tick())) {
      return false;
    }
    try {
      long at = offset * type().byteSize();
      if (writing) {
        type().write(array, start, bytes, at, count);
      } else {
        type().read(bytes, at, array, start, count);
      }
    } finally {
      held.endCopy(number);
    }
    return true;
  }

  /** Returns the bytes of a block if the host may access them at any time; else null. */
  private static @Nullable MemorySegment hostBytes(PooledBlock held) {
    return held.block().hostAccess() == HostAccess.DIRECT ? held.block().segment() : null;
  }

  @Override
  @Nullable MemorySegment viewDormant(boolean writing) {
    PooledBlock held = block;
    if (core != null || held == null || !mayExpose(writing)) {
      return null;
    }
    MemorySegment bytes = hostBytes(held);
    if (bytes == null) {
      return null;
    }
    MemorySegment view = bytes.asSlice(0, bytes());
    return held.expose(number, dormantRelease.tick()) ? view : null;
  }

  @Override
  boolean viewsAgain(boolean writing) {
    PooledBlock held = block;
    return (core == null && held != null && held.exposeAgain(number, dormantRelease.tick()))
        || super.viewsAgain(writing);
  }

  /**
   * Returns whether a view needs no storage. A view of host memory changes no state. A view of
   * other memory is recorded in the block as a write by the host. A view that only reads other
   * memory leads to a state that the block cannot record.
   */
  private boolean mayExpose(boolean writing) {
    return switch (allocation.location()) {
      case HOST, PINNED -> true;
      case UNIFIED -> writing;
      case DEVICE ->
          writing && token().leakGroup().context().device().info().can(Capability.SHARED_MEMORY);
    };
  }

  @Override
  public long from() {
    return 0;
  }

  @Override
  long count() {
    return length;
  }

  @Override
  void checkOpen() {
    if (core != null || block == null || !block.isDormant(number)) {
      core().checkOpen();
    }
  }

  @Override
  void end() {
    if (core != null || block == null || !dormantRelease.freeAtOnce(block, number, bytes())) {
      core().close();
    }
  }

  @Override
  public String toString() {
    return core().toString();
  }
}
