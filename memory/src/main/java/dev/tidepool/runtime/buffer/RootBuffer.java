package dev.tidepool.runtime.buffer;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.metering.LeakGroup;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.BufferReleaser;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The handle on all of a buffer; closing it closes the buffer.
 *
 * <p>Of a buffer that nothing was asked of yet there is nothing else but the notes in its block:
 * its {@link BufferCore} is made by the first who needs it. So an allocation makes one object, and
 * a buffer that was never used, or for short copies only, is closed with one exchange.
 */
final class RootBuffer<A> extends BufferHandle<A> {
  private static final VarHandle CORE;

  static {
    try {
      CORE = MethodHandles.lookup().findVarHandle(RootBuffer.class, "core", BufferCore.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  // The token knows the way there, too, but who closes a buffer waits for each link of it.
  private final BufferReleaser releases;
  private final Allocation allocation;
  private final long length;

  // Written before anybody else has this handle; without a block there is a buffer core from then
  // on.
  private @Nullable PooledBlock block;
  private long number;

  private volatile @Nullable BufferCore core;

  /** The handle of a dormant buffer, which will {@linkplain #moveInto move in} next. */
  RootBuffer(
      BufferReleaser releases,
      LeakGroup.Token token,
      ElementType<A> type,
      long length,
      Allocation allocation) {
    super(token, type);
    this.releases = releases;
    this.length = length;
    this.allocation = allocation;
  }

  /** The handle of a buffer that is awake. */
  RootBuffer(BufferCore core, LeakGroup.Token token, ElementType<A> type) {
    this(core.context().releases(), token, type, core.length(), core.allocation());
    this.core = core;
    // Whoever gets hold of the handle finds it, as if it were final.
    VarHandle.storeStoreFence();
  }

  /** This is the next dormant tenant of a block that the caller has taken. */
  void moveInto(PooledBlock taken) {
    block = taken;
    number = taken.nextDormant();
  }

  /** The same for a block that was seen to lie near the caller; false if another has taken it. */
  boolean movesInto(PooledBlock seen) {
    moveInto(seen);
    return seen.takeNear(number);
  }

  /** Lets others see that the block which this moved into has a tenant. */
  void occupy(PooledBlock taken) {
    // Whoever gets hold of the handle finds block and number, as if they were final.
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
            Objects.requireNonNull(block, "who has no block has a core"),
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
    MemorySegment bytes = held.block().segment();
    if (bytes == null
        || held.block().hostAccess() != HostAccess.DIRECT
        || !held.beginCopy(number, releases.tick())) {
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
    if (core != null || block == null || !releases.freeAtOnce(block, number, bytes())) {
      core().close();
    }
  }

  @Override
  public String toString() {
    return core().toString();
  }
}
