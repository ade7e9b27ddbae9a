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
 * Keeps the two copies of a storage coherent: which exist, which is newest where, and what must
 * move before an access.
 *
 * <p>Only the bytes travel that {@link CoherenceState} has as dirty. It changes after they have
 * arrived, so that a failed movement leaves a valid side and a state that says so. Where both
 * copies are one block nothing travels, and only the state changes. {@link StorageTransfers} moves
 * the ranges, by one command or several.
 *
 * <p>Memory that is short is taken from a storage by {@link StorageEviction} and {@link
 * StorageSpill}. An access brings spilled bytes back first.
 *
 * <p><b>Locking.</b> Called by work in the storage's queue, and by threads that free memory while
 * no work {@linkplain UseState occupies} the storage. Reads run side by side, and two may find that
 * the same bytes must move: the lock {@code moving} lets one of them move. This class owns the
 * lock; whatever changes the copies takes it. The storage's monitor, which guards the state, is
 * never held while bytes move.
 */
public final class Coherence {
  private final Storage storage;
  private final StorageContext context;
  private final BackingBlocks backing;
  private final long size;
  // Made when it is first taken: bytes that one block holds for both sides seldom move.
  private volatile @Nullable MovingLock moving;
  private final CoherenceState state;
  // Whether the host holds a mapped block; guarded by `moving`.
  private boolean hostHolds;
  // Brings the bytes back that have no memory; null while they have. Changes with `backing`.
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

  /** Where the newest bytes are. */
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
   * Returns whether the host's bytes are the library's own, in memory, and no driver is asked
   * before they are touched. The storage's monitor is held, and no work uses the copies.
   */
  boolean isHostInPlace() {
    return backing.isHostOwned() && backing.hasHost() && !backing.isMapped();
  }

  /** Returns whether the host may read any range of them; the storage's monitor is held. */
  boolean isReadableInPlace() {
    return backing.isShared() || isHostReadableEverywhere();
  }

  /** Returns whether a write of any range would change no state; the storage's monitor is held. */
  boolean isWritableInPlace() {
    return state.isWritableInPlace();
  }

  /**
   * Returns the host's bytes for a view, if only the state changes for that; null if bytes have to
   * move first. The storage's monitor is held, no work uses the copies, and they are {@linkplain
   * #isHostInPlace in place}.
   */
  @Nullable MemorySegment viewInPlace(long from, long to, boolean writing) {
    if (!backing.isShared() && !state.isHostNewest()) {
      return null;
    }
    if (writing ? !state.isHostNewest() : !state.hostHasNewest(from, to)) {
      // One block is both copies, so all bytes are there at once.
      state.allEqual();
    }
    if (writing) {
      state.hostWritten(from, to);
    }
    storage.bufferCounters().accessed(true);
    return backing.host();
  }

  /** Bytes that the host will read, fetched where the device's are newer. */
  public MemorySegment hostForRead(long from, long to) {
    try (MovingLock _ = lockMoving()) {
      bringBack(true);
      boolean found = state.hostHasNewest(from, to);
      storage.bufferCounters().accessed(found || backing.isShared());
      acquireForHost();
      if (!found) {
        beginOnHost();
        // Shared bytes are all there at once; else only what was asked for is fetched.
        fetch(backing.isShared() ? 0 : from, backing.isShared() ? size : to);
      }
      return backing.host();
    }
  }

  /**
   * Bytes that the host will write.
   *
   * @param overwritten whether all of the range will be written, so that its old bytes need not
   *     come
   */
  public MemorySegment hostForWrite(long from, long to, boolean overwritten) {
    try (MovingLock _ = lockMoving()) {
      MemorySegment host = hostBeforeWrite(from, to, overwritten);
      state.hostWritten(from, to);
      return host;
    }
  }

  /**
   * Like {@link #hostForWrite}, but does not count as a write: {@link CoherenceState#hostWritten}
   * does.
   */
  public MemorySegment hostBeforeWrite(long from, long to, boolean overwritten) {
    try (MovingLock _ = lockMoving()) {
      bringBack(!overwritten || from > 0 || to < size);
      boolean found = state.isHostNewest() || (overwritten && from == 0 && to == size);
      storage.bufferCounters().accessed(found || backing.isShared());
      acquireForHost();
      if (!state.isHostNewest()) {
        beginOnHost();
        allBut(Direction.DEVICE_TO_HOST, from, to, overwritten);
      }
      return backing.host();
    }
  }

  /** Bytes that the device will read, pushed where the host's are newer. */
  public Block deviceForRead(long from, long to) {
    try (MovingLock _ = lockMoving()) {
      bringBack(true);
      boolean found = state.deviceHasNewest(from, to);
      storage.bufferCounters().accessed(found || backing.isShared());
      releaseToDeviceUnlessMapped();
      if (!found) {
        beginOnDevice();
        push(backing.isShared() ? 0 : from, backing.isShared() ? size : to);
      }
      return backing.device();
    }
  }

  /**
   * Bytes that the device will write; {@link CoherenceState#deviceWritten} or {@link
   * CoherenceState#deviceWriteFailed} follows.
   *
   * @param overwritten whether all of the range will be written, so that its old bytes need not go
   */
  public Block deviceForWrite(long from, long to, boolean overwritten) {
    try (MovingLock _ = lockMoving()) {
      // Overwritten or not: if the kernel fails, the old bytes count.
      bringBack(true);
      boolean found = state.isDeviceNewest() || (overwritten && from == 0 && to == size);
      storage.bufferCounters().accessed(found || backing.isShared());
      releaseToDeviceUnlessMapped();
      if (!state.isDeviceNewest()) {
        beginOnDevice();
        allBut(Direction.HOST_TO_DEVICE, from, to, overwritten);
      }
      return backing.device();
    }
  }

  /**
   * Returns the device's block for a launch, if no memory is needed for it and no byte has to move;
   * else null. Called by work that occupies the storage. It is no access until {@link
   * #usedInPlace}.
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

  /** A launch takes the block that {@link #deviceInPlace} found. */
  public void usedInPlace() {
    storage.bufferCounters().accessed(true);
  }

  /**
   * Returns the lock under which bytes move. Threads that free memory take it as it is; work takes
   * it by {@link #lockMoving}.
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

  /** Returns whether another thread moves bytes, or gets memory for them, right now. */
  boolean isMoving() {
    MovingLock made = moving;
    return made != null && made.isLocked() && !made.isHeldByCurrentThread();
  }

  /** Returns whether the device must give memory before it can use the storage. */
  public boolean lacksDeviceMemory() {
    if (!moving().tryLock()) {
      // Another thread is moving the bytes, and may be waiting for memory.
      return true;
    }
    try {
      return isOffDevice();
    } finally {
      moving().unlock();
    }
  }

  /**
   * Returns whether the bytes have no memory that the device computes in; {@code moving} is held.
   */
  private boolean isOffDevice() {
    return isSpilled() || (!backing.isShared() && !backing.hasDevice());
  }

  /** Returns whether the bytes are in a file; known to work that is under way. */
  boolean isSpilled() {
    return spilled != null;
  }

  /** Notes that the bytes are in a file and in no memory; {@code moving} is held. */
  void spilledTo(SpilledBytes file) {
    spilled = file;
  }

  /** Notes that bytes that were in a file have memory again; {@code moving} is held. */
  void broughtBack() {
    spilled = null;
  }

  /**
   * Gives a storage whose bytes are in a file its memory again; {@code moving} is held.
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

  /** Allocates memory for the device's use; moves no bytes but those in the spill file. */
  public void provideDeviceMemory() {
    try (MovingLock _ = lockMoving()) {
      bringBack(true);
      if (!backing.isShared()) {
        beginOnDevice();
      }
    }
  }

  /** For work: it does not go on while another one moves the bytes. */
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

  /** Copies bytes in, to the side that is newest. */
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

  /** Returns the block that a copy in would go to over the link; null if it goes elsewhere. */
  public @Nullable Block uploadTarget() {
    return backing.isShared() || writesOnHost() ? null : backing.device();
  }

  /**
   * Returns the block that a copy out would come from over the link; null if it comes from
   * elsewhere.
   */
  public @Nullable Block downloadSource(long from, long to) {
    return backing.isShared() || state.hostHasNewest(from, to) ? null : backing.device();
  }

  /** A range was moved to {@link #uploadTarget} or from {@link #downloadSource} with others. */
  public void transferredInBatch(
      Direction direction, long from, long to, long elapsedNanos, TransferWay way) {
    storage.bufferCounters().accessed(true);
    countTransfer(direction, to - from, elapsedNanos, way);
    if (direction == Direction.HOST_TO_DEVICE) {
      state.deviceWritten(from, to);
    }
  }

  /** Copies bytes out, from the side that is newest. */
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

  /** Sets bytes, on the side that is newest. */
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

  /** Writes a range of the device's copy, and keeps the state true whether that works or not. */
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
   * Clears a buffer that was just made, without a change of state. It has a second copy if it was
   * suspended and resumed before this.
   */
  public void clear() {
    if (backing.hasHost() || !backing.hasDevice()) {
      FillPattern.of((byte) 0).fill(readable());
    }
    if (backing.hasDevice() && !backing.isShared()) {
      link().fill(backing.device(), size, (byte) 0);
    }
  }

  /** Brings the bytes to a side before it asks for them. */
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

  /** Brings the bytes back to the device if they have no memory there; whether that was so. */
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

  /** Where a copy to this storage goes. An open mapping keeps its bytes on the host. */
  public boolean writesOnHost() {
    synchronized (storage) {
      return storage.holds().isMapped() || state.isHostNewest();
    }
  }

  /** Returns the host's copy for a copy that will overwrite a range. */
  public MemorySegment targetOnHost(long from, long to) {
    return backing.isShared() ? sharedForWrite(from, to) : hostForWrite(from, to, true);
  }

  /** Returns whether the device's copy exists and no host bytes need it to stay as it is. */
  public boolean takesDeviceWrites() {
    synchronized (storage) {
      return !storage.holds().isMapped() && backing.hasDevice() && state.isDeviceNewest();
    }
  }

  /**
   * Returns the shared block for a copy or a fill, which counts as a write where the newest bytes
   * are.
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

  /** Returns the host's copy for reading, of bytes that are known to be the newest. */
  public MemorySegment readable() {
    try (MovingLock _ = lockMoving()) {
      bringBack(true);
      storage.bufferCounters().accessed(true);
      acquireForHost();
      return backing.host();
    }
  }

  /**
   * Brings what the other side has newer to memory that outlives the buffer. What the host may go
   * on writing, under a mapping, stays newer. The arena of a caller's memory is held open
   * meanwhile, so that it cannot end under the copy.
   *
   * @throws IllegalStateException if that memory has ended
   */
  void writeBack() {
    try (MovingLock _ = lockMoving()) {
      if (!isMissingBytes()) {
        return;
      }
      if (backing.isDeviceForeign()) {
        // Asked before the copy: a mapping that ends meanwhile may have written behind it.
        boolean hostMayWrite = storage.holds().isHostWritten();
        List<DirtyRanges.Range> dirty = state.dirtyWithin(0, size);
        transfer(Direction.HOST_TO_DEVICE, dirty);
        if (!hostMayWrite) {
          state.equal(dirty);
        }
        return;
      }
      try (ArenaKeepAlive _ = backing.isCallers() ? keepOpen(backing.host()) : null) {
        fetch(0, size);
      }
    }
  }

  private static @Nullable ArenaKeepAlive keepOpen(MemorySegment memory) {
    try {
      return ArenaKeepAlive.of(memory);
    } catch (UnsupportedOperationException notHere) {
      // Without native access the arena can be closed, which the copy then fails with.
      return null;
    }
  }

  /** Returns whether the memory that outlives the buffer, on one side, has not the newest bytes. */
  private boolean isMissingBytes() {
    return !backing.isShared()
        && !backing.isAmongProcesses()
        && (backing.isDeviceForeign() ? !state.isDeviceNewest() : !state.isHostNewest());
  }

  /** Returns how many bytes that memory is missing; 0 where one block is both copies. */
  long missingBytes() {
    synchronized (storage) {
      return isMissingBytes()
          ? state.dirtyWithin(0, size).stream().mapToLong(DirtyRanges.Range::bytes).sum()
          : 0;
    }
  }

  /** Fetches all that is newer on the device; {@code moving} is held. */
  void fetchNewer() {
    if (!state.isHostNewest()) {
      beginOnHost();
      fetch(0, size);
    }
  }

  /** Returns whether there is memory that {@link StorageSpill} could give up. */
  boolean isSpillable() {
    return (backing.hasHost() || backing.hasDevice())
        && backing.isHostOwned()
        && size > 0
        && !storage.holds().keepHost()
        && !storage.holds().keepDevice()
        && !backing.isDeviceForeign();
  }

  /** Makes the host's copy where there is none; all of it is still the device's then. */
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

  /** Adds a host copy; if that throws, the lease ends. {@code moving} is held. */
  void addHost(Lease lease) {
    try {
      backing.setHost(lease);
    } catch (RuntimeException | Error e) {
      lease.release();
      throw e;
    }
  }

  /** Makes the device's copy where there is none; all of it is still the host's then. */
  private void beginOnDevice() {
    if (!backing.hasDevice()) {
      backing.setDevice(context.blocks().forDevice(size, storage.core()));
    }
    state.deviceCopyMade();
  }

  private void fetch(long from, long to) {
    transferAndMark(Direction.DEVICE_TO_HOST, state.dirtyWithin(from, to));
  }

  private void push(long from, long to) {
    transferAndMark(Direction.HOST_TO_DEVICE, state.dirtyWithin(from, to));
  }

  private void allBut(Direction direction, long from, long to, boolean overwritten) {
    if (overwritten && from < to) {
      transferAndMark(direction, state.dirtyWithin(0, from));
      transferAndMark(direction, state.dirtyWithin(to, size));
    } else {
      transferAndMark(direction, state.dirtyWithin(0, size));
    }
  }

  /**
   * Moves ranges, all of them at once, and marks them as equal when all have arrived. If that
   * fails, none is marked: what arrived already travels again.
   */
  private void transferAndMark(Direction direction, List<DirtyRanges.Range> ranges) {
    transfer(direction, ranges);
    state.equal(ranges);
  }

  private void transfer(Direction direction, List<DirtyRanges.Range> ranges) {
    if (!backing.isShared() && !ranges.isEmpty()) {
      if (direction == Direction.HOST_TO_DEVICE && state.hasUnsettledWrites()) {
        // Bytes have to be pushed under a launch only if a launch ahead has failed. What asks for
        // them fails with that, and must not touch the copy before.
        throw new TransferException("a kernel failed that " + storage + " depends on", null);
      }
      long bytes = ranges.stream().mapToLong(DirtyRanges.Range::bytes).sum();
      measure(
          direction, bytes, () -> TransferContext.aside(() -> transfers().move(direction, ranges)));
    }
  }

  /** Counts a movement that was made elsewhere. */
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

  /** Takes a mapped block for the host; {@code moving} is held. */
  void acquireForHost() {
    if (backing.isMapped() && !hostHolds) {
      link().acquire(backing.device());
      hostHolds = true;
    }
  }

  /** The device takes a mapped block back, unless an open mapping only reads it. */
  private void releaseToDeviceUnlessMapped() {
    if (hostHolds && !storage.holds().isMapped()) {
      releaseToDevice();
    }
  }

  /**
   * Hands what the host wrote to a mapped block over to the device, before a mapping begins under
   * which the device may read.
   */
  public void publish() {
    try (MovingLock _ = moving().locked()) {
      releaseToDeviceUnlessMapped();
    }
  }

  /** A mapped block goes back to its pool as it came: released. */
  void beforeFree() {
    if (moving == null) {
      return; // The host never took it.
    }
    try (MovingLock _ = moving().locked()) {
      releaseToDevice();
    }
  }

  /** Takes a mapped block back for the device; {@code moving} is held. */
  void releaseToDevice() {
    if (hostHolds) {
      link().release(backing.device());
      // Set last: if the release fails the host still has the block, and a failed spill goes on
      // with it.
      hostHolds = false;
    }
  }

  private StorageTransfers transfers() {
    return new StorageTransfers(context.link(), backing);
  }

  private DeviceLink link() {
    return context.link();
  }
}
