package dev.tidepool.runtime.storage;

import dev.tidepool.BufferState;
import dev.tidepool.TransferException;
import dev.tidepool.host.ArenaKeepAlive;
import dev.tidepool.host.system.TruncatedMapCheck;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.Direction;
import dev.tidepool.link.HostRegion;
import dev.tidepool.link.TransferContext;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.runtime.events.FlightEvents;
import dev.tidepool.runtime.events.TransferEvent;
import dev.tidepool.runtime.order.UseState;
import dev.tidepool.spi.Block;
import dev.tidepool.transfer.TransferWay;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the two copies of a storage coherent: which copies exist, where each is newest, and which
 * bytes must move before an access.
 *
 * <p>Only bytes that {@link CoherenceState} lists as dirty are transferred. The state changes after
 * the transfer, so that a failed one leaves a valid copy and a state that says so. If one block is
 * both copies, nothing is transferred and only the state changes. {@link StorageTransfers} moves
 * the ranges, by one command or several.
 *
 * <p>If memory is short, {@link StorageEviction} and {@link StorageSpill} take memory from a
 * storage. An access brings spilled bytes back first.
 *
 * <p><b>Locking.</b> Called by operations in the storage's queue, and by threads that free memory
 * while no operation {@linkplain UseState occupies} the storage. Reads run concurrently, and two
 * may need the same bytes: the lock {@code moving} admits one of them. This class owns the lock;
 * code that adds or removes copies holds it. The storage's monitor, which guards the state, is
 * never held while bytes move.
 */
public final class Coherence {
  private final Storage storage;
  private final StorageContext context;
  private final BackingBlocks backing;
  private final long size;
  // Created when first taken, because a block that is both copies seldom needs it.
  private volatile @Nullable MovingLock moving;
  private final CoherenceState state;
  // Whether the host has acquired a mapped block; guarded by `moving`.
  private boolean hostHolds;
  // Brings spilled bytes back; null while the bytes are in memory. Changes with `backing`.
  private @Nullable SpilledBytes spilled;

  Coherence(Storage storage, StorageContext context, BackingBlocks backing, BufferState state) {
    this.storage = storage;
    this.context = context;
    this.backing = backing;
    this.size = storage.byteSize();
    this.state = new CoherenceState(storage, size, backing.isShared(), state);
  }

  public BackingBlocks backing() {
    return backing;
  }

  /** Returns where the newest bytes are. */
  public CoherenceState state() {
    return state;
  }

  /**
   * Returns whether the host may write anywhere without a change of state; the storage's monitor is
   * held.
   */
  boolean isHostWritableEverywhere() {
    return state.get() == BufferState.HOST_ONLY
        || (state.isHostDirtyEverywhere() && (!backing.isMapped() || hostHolds));
  }

  /**
   * Returns whether the host may read anywhere without a change of state; the storage's monitor is
   * held.
   */
  boolean isHostReadableEverywhere() {
    return state.isHostNewest() && (!backing.isMapped() || hostHolds);
  }

  /**
   * Returns whether the library owns the host's bytes, they are in memory, and an access needs no
   * call to a driver. The storage's monitor is held, and no operation uses the copies.
   */
  boolean isHostInPlace() {
    return backing.isHostOwned() && backing.hasHost() && !backing.isMapped();
  }

  /** Returns whether the host may read any range in place; the storage's monitor is held. */
  boolean isReadableInPlace() {
    return backing.isShared() || isHostReadableEverywhere();
  }

  /**
   * Returns the host's bytes for a view; null if bytes have to move first. The storage's monitor is
   * held, no operation uses the copies, and they are {@linkplain #isHostInPlace in place}.
   */
  @Nullable MemorySegment viewInPlace(long from, long to, boolean writing) {
    if (!backing.isShared() && !state.isHostNewest()) {
      return null;
    }
    if (writing ? !state.isHostNewest() : !state.hostHasNewest(from, to)) {
      // One block is both copies, so nothing has to move.
      state.allEqual();
    }
    if (writing) {
      state.hostWritten(from, to);
    }
    storage.bufferCounters().accessed(true);
    return backing.host();
  }

  /** Returns the host's copy for a read; fetches bytes that are newer on the device. */
  public MemorySegment hostForRead(long from, long to) {
    try (MovingLock _ = lockMoving()) {
      bringBack(true);
      boolean found = state.hostHasNewest(from, to);
      storage.bufferCounters().accessed(found || backing.isShared());
      acquireForHost();
      if (!found) {
        beginOnHost();
        // A shared block is marked as a whole; else only the range is fetched.
        move(
            Direction.DEVICE_TO_HOST,
            backing.isShared() ? 0 : from,
            backing.isShared() ? size : to);
      }
      return backing.host();
    }
  }

  /**
   * Returns the host's copy for a write.
   *
   * @param overwritten whether all of the range will be written, so that its old bytes need not be
   *     fetched
   */
  public MemorySegment hostForWrite(long from, long to, boolean overwritten) {
    try (MovingLock _ = lockMoving()) {
      MemorySegment host = hostBeforeWrite(from, to, overwritten);
      state.hostWritten(from, to);
      return host;
    }
  }

  /**
   * Like {@link #hostForWrite}, but does not mark the range as written; {@link
   * CoherenceState#hostWritten} does.
   */
  public MemorySegment hostBeforeWrite(long from, long to, boolean overwritten) {
    try (MovingLock _ = lockMoving()) {
      bringBack(!overwritten || from > 0 || to < size);
      boolean found = state.isHostNewest() || (overwritten && from == 0 && to == size);
      storage.bufferCounters().accessed(found || backing.isShared());
      acquireForHost();
      if (!state.isHostNewest()) {
        beginOnHost();
        moveAllBut(Direction.DEVICE_TO_HOST, from, to, overwritten);
      }
      return backing.host();
    }
  }

  /** Returns the device's copy for a read; pushes bytes that are newer on the host. */
  public Block deviceForRead(long from, long to) {
    try (MovingLock _ = lockMoving()) {
      bringBack(true);
      boolean found = state.deviceHasNewest(from, to);
      storage.bufferCounters().accessed(found || backing.isShared());
      releaseToDeviceUnlessMapped();
      if (!found) {
        beginOnDevice();
        move(
            Direction.HOST_TO_DEVICE,
            backing.isShared() ? 0 : from,
            backing.isShared() ? size : to);
      }
      return backing.device();
    }
  }

  /**
   * Returns the device's copy for a write; {@link CoherenceState#deviceWritten} or {@link
   * CoherenceState#deviceWriteFailed} follows.
   *
   * @param overwritten whether all of the range will be written, so that its old bytes need not be
   *     pushed
   */
  public Block deviceForWrite(long from, long to, boolean overwritten) {
    try (MovingLock _ = lockMoving()) {
      // Even if all is overwritten: if the kernel fails, the old bytes stay valid.
      bringBack(true);
      boolean found = state.isDeviceNewest() || (overwritten && from == 0 && to == size);
      storage.bufferCounters().accessed(found || backing.isShared());
      releaseToDeviceUnlessMapped();
      if (!state.isDeviceNewest()) {
        beginOnDevice();
        moveAllBut(Direction.HOST_TO_DEVICE, from, to, overwritten);
      }
      return backing.device();
    }
  }

  /**
   * Returns the device's block for a launch, if that needs no memory and no transfer; else null.
   * Called by an operation that occupies the storage. Counts no access; {@link #usedInPlace} does.
   *
   * @param written whether the launch writes the range
   */
  public @Nullable Block deviceInPlace(long from, long to, boolean written) {
    ReentrantLock lock = moving();
    if (!lock.tryLock()) {
      return null;
    }
    try {
      boolean isThere = !isSpilled() && backing.hasDevice() && !backing.isMapped();
      if (!isThere || !(written ? state.isDeviceNewest() : state.deviceHasNewest(from, to))) {
        return null;
      }
      return backing.device();
    } finally {
      lock.unlock();
    }
  }

  /** Counts the access of a launch that uses the block of {@link #deviceInPlace}. */
  public void usedInPlace() {
    storage.bufferCounters().accessed(true);
  }

  /**
   * Returns the lock under which bytes move. Threads that free memory lock it directly; operations
   * use {@link #lockMoving}.
   */
  MovingLock moving() {
    MovingLock made = moving;
    if (made == null) {
      synchronized (storage) {
        made = moving;
        if (made == null) {
          made = new MovingLock();
          moving = made;
        }
      }
    }
    return made;
  }

  /** Returns whether another thread moves the bytes, or allocates memory for them, right now. */
  boolean isMoving() {
    MovingLock made = moving;
    return made != null && made.isLocked() && !made.isHeldByCurrentThread();
  }

  /** Returns whether the device must allocate memory before it can use the storage. */
  public boolean lacksDeviceMemory() {
    if (!moving().tryLock()) {
      // Another thread moves the bytes, and may wait for memory.
      return true;
    }
    try {
      return isOffDevice();
    } finally {
      moving().unlock();
    }
  }

  /** Returns whether the device has no memory for the bytes; {@code moving} is held. */
  private boolean isOffDevice() {
    return isSpilled() || (!backing.isShared() && !backing.hasDevice());
  }

  /** Returns whether the bytes are in a file; reliable for operations that occupy the storage. */
  boolean isSpilled() {
    return spilled != null;
  }

  /** Notes that the bytes are only in a file; {@code moving} is held. */
  void spilledTo(SpilledBytes file) {
    spilled = file;
  }

  /** Notes that spilled bytes are in memory again; {@code moving} is held. */
  void broughtBack() {
    spilled = null;
  }

  /**
   * Allocates memory for a storage whose bytes are in a file; {@code moving} is held.
   *
   * @param read whether the bytes are needed
   */
  private void bringBack(boolean read) {
    SpilledBytes file = spilled;
    if (file != null) {
      file.bringBack(read);
    }
  }

  void provideMemory() {
    try (MovingLock _ = lockMoving()) {
      bringBack(true);
    }
  }

  /** Allocates device memory. Transfers no bytes, except that spilled bytes are read back. */
  public void provideDeviceMemory() {
    try (MovingLock _ = lockMoving()) {
      bringBack(true);
      if (!backing.isShared()) {
        beginOnDevice();
      }
    }
  }

  /** Locks for an operation, which waits while another one moves the bytes. */
  private MovingLock lockMoving() {
    MovingLock lock = moving();
    if (!lock.tryLock()) {
      try {
        context.waiters().beginBlocked();
        lock.lock();
      } finally {
        context.waiters().endBlocked();
      }
    }
    return lock;
  }

  /** Copies bytes in, to the copy that {@link #writesOnHost} selects. */
  public void copyIn(HostRegion source, long at) {
    long to = at + source.byteSize();
    if (backing.isShared() || writesOnHost()) {
      source.copyTo(0, targetOnHost(at, to).asSlice(at, to - at));
    } else {
      storage.bufferCounters().accessed(true);
      onDevice(
          at,
          to,
          () ->
              measure(
                  Direction.HOST_TO_DEVICE,
                  to - at,
                  () -> link().upload(source, backing.device(), at)));
    }
  }

  /** Returns the block to which {@link #copyIn} would upload; null if it would not use the link. */
  public @Nullable Block uploadTarget() {
    return backing.isShared() || writesOnHost() ? null : backing.device();
  }

  /**
   * Returns the block from which {@link #copyOut} would download; null if it would not use the
   * link.
   */
  public @Nullable Block downloadSource(long from, long to) {
    return backing.isShared() || state.hostHasNewest(from, to) ? null : backing.device();
  }

  /** Notes that a batch moved a range to {@link #uploadTarget} or from {@link #downloadSource}. */
  public void transferredInBatch(
      Direction direction, long from, long to, long elapsedNanos, TransferWay way) {
    storage.bufferCounters().accessed(true);
    countTransfer(direction, to - from, elapsedNanos, way);
    if (direction == Direction.HOST_TO_DEVICE) {
      state.deviceWritten(from, to);
    }
  }

  /** Copies bytes out, from the copy that is newest. */
  public void copyOut(long at, HostRegion destination) {
    long to = at + destination.byteSize();
    if (backing.isShared() || state.hostHasNewest(at, to)) {
      destination.copyFrom(readable().asSlice(at, to - at), 0);
    } else {
      storage.bufferCounters().accessed(true);
      measure(
          Direction.DEVICE_TO_HOST,
          to - at,
          () -> link().download(backing.device(), at, destination));
    }
  }

  /** Fills a range, in the copy that {@link #writesOnHost} selects. */
  public void fill(long from, long to, FillPattern pattern) {
    if (backing.isShared() || writesOnHost()) {
      MemorySegment target = targetOnHost(from, to).asSlice(from, to - from);
      pattern.fill(target);
      TruncatedMapCheck.surface(target, target);
    } else {
      storage.bufferCounters().accessed(true);
      onDevice(from, to, () -> pattern.fill(link(), backing.device(), from, to - from));
    }
  }

  /** Writes a range of the device's copy, and updates the state even if the write fails. */
  public void onDevice(long from, long to, Runnable write) {
    try {
      write.run();
    } catch (RuntimeException | Error e) {
      state.deviceWriteFailed(from, to);
      throw e;
    }
    state.deviceWritten(from, to);
  }

  /**
   * Clears a new buffer without a change of state. It has a second copy if it was suspended and
   * resumed before.
   */
  public void clear() {
    if (backing.hasHost() || !backing.hasDevice()) {
      FillPattern.of((byte) 0).fill(readable());
    }
    if (backing.hasDevice() && !backing.isShared()) {
      link().fill(backing.device(), size, (byte) 0);
    }
  }

  /** Brings the bytes to the device or the host in advance. */
  public void prefetch(long from, long to, boolean toDevice) {
    if (toDevice) {
      deviceForRead(from, to);
    } else {
      hostForRead(from, to);
    }
    if (backing.isShared()) {
      link().prefetch(backing.device(), from, to - from, toDevice);
    }
  }

  /** Brings the bytes back to the device; returns whether they had no memory there. */
  public boolean returnToDevice() {
    try (MovingLock _ = lockMoving()) {
      boolean isAway = isOffDevice();
      if (isAway) {
        prefetch(0, size, true);
      }
      return isAway;
    }
  }

  /** Makes both copies valid and equal in a range. */
  public void synchronize(long from, long to) {
    if (state.isHostNewest()) {
      deviceForRead(from, to);
    } else {
      hostForRead(from, to);
    }
  }

  /** Returns whether a copy to this storage writes on the host, as always under a mapping. */
  public boolean writesOnHost() {
    synchronized (storage) {
      return storage.holds().isMapped() || state.isHostNewest();
    }
  }

  /** Returns the host's bytes for a copy that will overwrite a range. */
  public MemorySegment targetOnHost(long from, long to) {
    return backing.isShared() ? sharedForWrite(from, to) : hostForWrite(from, to, true);
  }

  /** Returns whether the device's copy exists and is newest, and no mapping is open. */
  public boolean takesDeviceWrites() {
    synchronized (storage) {
      return !storage.holds().isMapped() && backing.hasDevice() && state.isDeviceNewest();
    }
  }

  /**
   * Returns the shared block for a copy or a fill. Marks the range as written on the newest side.
   */
  private MemorySegment sharedForWrite(long from, long to) {
    try (MovingLock _ = lockMoving()) {
      bringBack(from > 0 || to < size);
      storage.bufferCounters().accessed(true);
      acquireForHost();
      if (writesOnHost()) {
        state.hostWritten(from, to);
      } else {
        state.deviceWritten(from, to);
      }
      return backing.host();
    }
  }

  /** Returns the host's copy for a read of bytes that are known to be newest there. */
  public MemorySegment readable() {
    try (MovingLock _ = lockMoving()) {
      bringBack(true);
      storage.bufferCounters().accessed(true);
      acquireForHost();
      return backing.host();
    }
  }

  /**
   * Copies newer bytes of the other side to memory that outlives the buffer. Bytes that the host
   * may continue to write, under a mapping, stay newer. The arena of a caller's memory is kept open
   * during the copy.
   *
   * @throws IllegalStateException if the memory is no longer valid
   */
  void writeBack() {
    try (MovingLock _ = lockMoving()) {
      if (!isMissingBytes()) {
        return;
      }
      if (backing.isDeviceForeign()) {
        // Read before the copy: a mapping that ends during the copy may have written behind it.
        boolean hostMayWrite = storage.holds().isHostWritten();
        List<DirtyRanges.Range> dirty = state.dirtyWithin(0, size);
        transfer(Direction.HOST_TO_DEVICE, dirty);
        if (!hostMayWrite) {
          state.equal(dirty);
        }
        return;
      }
      try (ArenaKeepAlive _ = backing.isCallers() ? keepOpen(backing.host()) : null) {
        move(Direction.DEVICE_TO_HOST, 0, size);
      }
    }
  }

  private static @Nullable ArenaKeepAlive keepOpen(MemorySegment memory) {
    try {
      return ArenaKeepAlive.of(memory);
    } catch (UnsupportedOperationException notHere) {
      // Without native access the arena may be closed meanwhile; then the copy fails.
      return null;
    }
  }

  /** Returns whether the memory that outlives the buffer lacks newest bytes. */
  private boolean isMissingBytes() {
    return !backing.isShared()
        && !backing.isAmongProcesses()
        && (backing.isDeviceForeign() ? !state.isDeviceNewest() : !state.isHostNewest());
  }

  /** Returns how many newest bytes that memory lacks; 0 if one block is both copies. */
  long missingBytes() {
    synchronized (storage) {
      return isMissingBytes()
          ? state.dirtyWithin(0, size).stream().mapToLong(DirtyRanges.Range::bytes).sum()
          : 0;
    }
  }

  /** Fetches all bytes that are newer on the device; {@code moving} is held. */
  void fetchNewer() {
    if (!state.isHostNewest()) {
      beginOnHost();
      move(Direction.DEVICE_TO_HOST, 0, size);
    }
  }

  /** Returns whether {@link StorageSpill} could free memory of the storage. */
  boolean isSpillable() {
    return (backing.hasHost() || backing.hasDevice())
        && backing.isHostOwned()
        && size > 0
        && !storage.holds().keepHost()
        && !storage.holds().keepDevice()
        && !backing.isDeviceForeign();
  }

  /** Allocates the host's copy if there is none; the device is newer in all of it then. */
  private void beginOnHost() {
    if (backing.isAmongProcesses()) {
      throw new UnsupportedOperationException(
          storage
              + " is shared with other processes on the device, of whose writes a view of the host"
              + " would not know; copy from it and to it");
    }
    if (!backing.hasHost()) {
      addHost(context.blocks().forHost(size, storage.core()));
    }
    state.hostCopyMade();
  }

  /** Adds a host copy; if that throws, releases the lease. {@code moving} is held. */
  void addHost(Lease lease) {
    try {
      backing.setHost(lease);
    } catch (RuntimeException | Error e) {
      lease.release();
      throw e;
    }
  }

  /** Allocates the device's copy if there is none; the host is newer in all of it then. */
  private void beginOnDevice() {
    if (!backing.hasDevice()) {
      backing.setDevice(context.blocks().forDevice(size, storage.core()));
    }
    state.deviceCopyMade();
  }

  /** Moves the dirty bytes around a range, and those within unless they will be overwritten. */
  private void moveAllBut(Direction direction, long from, long to, boolean overwritten) {
    if (overwritten && from < to) {
      move(direction, 0, from);
      move(direction, to, size);
    } else {
      move(direction, 0, size);
    }
  }

  /**
   * Moves the dirty bytes of a range together, and marks them as equal when all have arrived. If
   * the transfer fails, none is marked, and all are transferred again.
   */
  private void move(Direction direction, long from, long to) {
    List<DirtyRanges.Range> dirty = state.dirtyWithin(from, to);
    transfer(direction, dirty);
    state.equal(dirty);
  }

  private void transfer(Direction direction, List<DirtyRanges.Range> ranges) {
    if (!backing.isShared() && !ranges.isEmpty()) {
      if (direction == Direction.HOST_TO_DEVICE && state.hasUnsettledWrites()) {
        // Bytes have to be pushed during a launch only if an earlier launch has failed. The
        // operation that needs the bytes fails too, and must not change the copy before.
        throw new TransferException("a kernel failed that " + storage + " depends on", null);
      }
      long bytes = ranges.stream().mapToLong(DirtyRanges.Range::bytes).sum();
      measure(
          direction, bytes, () -> TransferContext.aside(() -> transfers().move(direction, ranges)));
    }
  }

  /** Counts a transfer that other code has made. */
  public void countTransfer(Direction direction, long bytes, long elapsedNanos, TransferWay way) {
    context.meter().moved(direction, bytes, elapsedNanos, way);
    storage.bufferCounters().moved(direction, bytes, elapsedNanos);
  }

  private void measure(Direction direction, long bytes, Supplier<TransferWay> movement) {
    TransferEvent event = FlightEvents.transfer();
    long start = System.nanoTime();
    TransferWay way = movement.get();
    long elapsed = System.nanoTime() - start;
    if (event != null) {
      event.moved(context.id(), direction.name(), way, storage.core().tag(), bytes);
    }
    countTransfer(direction, bytes, elapsed, way);
  }

  /** Acquires a mapped block for the host; {@code moving} is held. */
  void acquireForHost() {
    if (backing.isMapped() && !hostHolds) {
      link().acquire(backing.device());
      hostHolds = true;
    }
  }

  /** Releases a mapped block to the device, unless a mapping is open. */
  private void releaseToDeviceUnlessMapped() {
    if (hostHolds && !storage.holds().isMapped()) {
      releaseToDevice();
    }
  }

  /**
   * Makes the host's writes to a mapped block visible to the device, before a mapping opens during
   * which the device may read.
   */
  public void publish() {
    try (MovingLock _ = lockMoving()) {
      releaseToDeviceUnlessMapped();
    }
  }

  /** Releases a mapped block before it is returned to its pool. */
  void beforeFree() {
    if (moving == null) {
      return; // The host never acquired it.
    }
    try (MovingLock _ = moving().locked()) {
      releaseToDevice();
    }
  }

  /** Releases a mapped block to the device; {@code moving} is held. */
  void releaseToDevice() {
    if (hostHolds) {
      link().release(backing.device());
      // Set last: if the release fails, the host still has the block, and a spill that fails leaves
      // it usable.
      hostHolds = false;
    }
  }

  StorageTransfers transfers() {
    return new StorageTransfers(context.link(), backing);
  }

  private DeviceLink link() {
    return context.link();
  }
}
