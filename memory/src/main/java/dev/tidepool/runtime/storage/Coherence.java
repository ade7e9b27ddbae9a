package dev.tidepool.runtime.storage;

import dev.tidepool.BufferState;
import dev.tidepool.MemoryLocation;
import dev.tidepool.host.ArenaKeepAlive;
import dev.tidepool.host.system.TruncatedMapCheck;
import dev.tidepool.link.CoalescedCopy;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.Direction;
import dev.tidepool.link.HostRegion;
import dev.tidepool.link.TransferContext;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.runtime.flight.Flight;
import dev.tidepool.runtime.flight.TransferEvent;
import dev.tidepool.runtime.order.PinState;
import dev.tidepool.spi.Block;
import dev.tidepool.transfer.TransferWay;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the two copies of a storage coherent: which exist, which is newest where, and what must
 * move before an access.
 *
 * <p>At most one side is newer at a time, in the byte ranges {@code dirty}; only those travel.
 * State changes after the bytes have arrived, so that a failed movement leaves a valid side and a
 * state that says so. Where both copies are one block nothing travels, and only the state changes.
 *
 * <p><b>Locking.</b> Called by work in the storage's queue, and by threads that free memory while
 * no work {@linkplain PinState occupies} the storage. Reads run side by side, and two may find that
 * the same bytes must move: the lock {@code moving} lets one of them move. {@code state} and {@code
 * dirty} are guarded by the storage's monitor, which is never held while bytes move.
 */
public final class Coherence {
  private final Storage storage;
  private final StorageContext context;
  private final BackingBlocks copies;
  private final long size;
  // Made when it is first taken: bytes that one block holds for both sides seldom move.
  private volatile @Nullable ReentrantLock moving;
  // All three guarded by the storage's monitor.
  private BufferState state;
  private final DirtyRanges dirty;
  private volatile int revocations;
  // Launches that were submitted to write, and have not ended.
  private int unsettledWrites;
  // Whether the host holds a mapped block; guarded by `moving`.
  private boolean hostHolds;

  Coherence(Storage storage, StorageContext context, BackingBlocks copies, BufferState state) {
    this.storage = storage;
    this.context = context;
    this.copies = copies;
    this.size = storage.byteSize();
    this.dirty = new DirtyRanges(size);
    this.state = state;
  }

  public BackingBlocks copies() {
    return copies;
  }

  BufferState state() {
    synchronized (storage) {
      return state;
    }
  }

  /**
   * Whether the host may write anywhere without a change of state; the storage's monitor is held.
   */
  boolean isHostWritableEverywhere() {
    return switch (state) {
      case HOST_ONLY -> true;
      case HOST_DIRTY -> dirty.covers(0, size) && (!copies.isMapped() || hostHolds);
      default -> false;
    };
  }

  /**
   * Whether the host may read anywhere without a change of state; the storage's monitor is held.
   */
  boolean isHostReadableEverywhere() {
    return switch (state) {
      case HOST_ONLY, SYNCHRONIZED, HOST_DIRTY -> !copies.isMapped() || hostHolds;
      default -> false;
    };
  }

  /**
   * Whether the host's bytes are the library's own, in memory, and no driver is asked before they
   * are touched. The storage's monitor is held, and no work uses the copies.
   */
  boolean isHostInPlace() {
    return copies.isHostOwned() && copies.hasHost() && !copies.isMapped();
  }

  /** Whether the host may read any range of them; the storage's monitor is held. */
  boolean isReadableInPlace() {
    return copies.isShared() || isHostReadableEverywhere();
  }

  /** Whether a write of any range would change no state; the storage's monitor is held. */
  boolean isWritableInPlace() {
    return switch (state) {
      case HOST_ONLY -> true;
      case HOST_DIRTY -> dirty.covers(0, size);
      case DEVICE_ONLY -> copies.isShared();
      case DEVICE_DIRTY -> copies.isShared() && dirty.covers(0, size);
      case SYNCHRONIZED -> false;
    };
  }

  /**
   * The host's bytes for a view, if only the state changes for that; null if bytes have to move
   * first. The storage's monitor is held, no work uses the copies, and they are {@linkplain
   * #isHostInPlace in place}.
   */
  @Nullable MemorySegment viewInPlace(long from, long to, boolean writing) {
    if (!copies.isShared() && !isHostNewest()) {
      return null;
    }
    if (writing ? !isHostNewest() : !hostHasNewest(from, to)) {
      // One block is both copies, so all bytes are there at once.
      dirty.clear();
      state = BufferState.SYNCHRONIZED;
    }
    if (writing) {
      hostWritten(from, to);
    }
    storage.bufferCounters().accessed(true);
    return copies.host();
  }

  /** Bytes that the host will read, fetched where the device's are newer. */
  public MemorySegment hostForRead(long from, long to) {
    lockMoving();
    try {
      bringBack(true);
      boolean found = hostHasNewest(from, to);
      storage.bufferCounters().accessed(found || copies.isShared());
      hold();
      if (!found) {
        beginOnHost(BufferState.DEVICE_DIRTY);
        // Shared bytes are all there at once; else only what was asked for is fetched.
        fetch(copies.isShared() ? 0 : from, copies.isShared() ? size : to);
      }
      return copies.host();
    } finally {
      moving().unlock();
    }
  }

  /**
   * Bytes that the host will write.
   *
   * @param overwritten whether all of the range will be written, so that its old bytes need not
   *     come
   */
  public MemorySegment hostForWrite(long from, long to, boolean overwritten) {
    lockMoving();
    try {
      bringBack(!overwritten || from > 0 || to < size);
      boolean found = isHostNewest() || (overwritten && from == 0 && to == size);
      storage.bufferCounters().accessed(found || copies.isShared());
      hold();
      if (!isHostNewest()) {
        beginOnHost(BufferState.DEVICE_DIRTY);
        fetchAllBut(from, to, overwritten);
      }
      hostWritten(from, to);
      return copies.host();
    } finally {
      moving().unlock();
    }
  }

  /** Bytes that the device will read, pushed where the host's are newer. */
  public Block deviceForRead(long from, long to) {
    lockMoving();
    try {
      bringBack(true);
      boolean found = deviceHasNewest(from, to);
      storage.bufferCounters().accessed(found || copies.isShared());
      yieldToDevice();
      if (!found) {
        beginOnDevice();
        push(copies.isShared() ? 0 : from, copies.isShared() ? size : to);
      }
      return copies.device();
    } finally {
      moving().unlock();
    }
  }

  /**
   * Bytes that the device will write; {@link #deviceWritten} or {@link #deviceWriteFailed} follows.
   *
   * @param overwritten whether all of the range will be written, so that its old bytes need not go
   */
  public Block deviceForWrite(long from, long to, boolean overwritten) {
    lockMoving();
    try {
      // Overwritten or not: if the kernel fails, the old bytes count.
      bringBack(true);
      boolean found = isDeviceNewest() || (overwritten && from == 0 && to == size);
      storage.bufferCounters().accessed(found || copies.isShared());
      yieldToDevice();
      if (!isDeviceNewest()) {
        beginOnDevice();
        pushAllBut(from, to, overwritten);
      }
      return copies.device();
    } finally {
      moving().unlock();
    }
  }

  /**
   * The device's block for a launch, if no memory is needed for it and no byte has to move; else
   * null. Called by work that occupies the storage.
   *
   * @param written whether the launch writes the range
   */
  public @Nullable Block deviceInPlace(long from, long to, boolean written) {
    ReentrantLock lock = moving();
    if (!lock.tryLock()) {
      return null;
    }
    try {
      boolean isThere = copies.spilled() == null && copies.hasDevice() && !copies.isMapped();
      if (!isThere || !(written ? isDeviceNewest() : deviceHasNewest(from, to))) {
        return null;
      }
      storage.bufferCounters().accessed(true);
      return copies.device();
    } finally {
      lock.unlock();
    }
  }

  private ReentrantLock moving() {
    ReentrantLock made = moving;
    if (made == null) {
      synchronized (storage) {
        made = moving;
        if (made == null) {
          made = new ReentrantLock();
          moving = made;
        }
      }
    }
    return made;
  }

  /** Whether another thread moves bytes, or gets memory for them, right now. */
  boolean isMoving() {
    ReentrantLock made = moving;
    return made != null && made.isLocked() && !made.isHeldByCurrentThread();
  }

  /** Whether the device must give memory before it can use the storage. */
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

  /** Whether the bytes have no memory that the device computes in; {@code moving} is held. */
  private boolean isOffDevice() {
    return copies.spilled() != null || (!copies.isShared() && !copies.hasDevice());
  }

  /** Whether the bytes are in a file; known to work that is under way. */
  boolean isSpilled() {
    return copies.spilled() != null;
  }

  /** Sees to it that the bytes are in memory. */
  void provideMemory() {
    lockMoving();
    try {
      bringBack(true);
    } finally {
      moving().unlock();
    }
  }

  /** Sees to memory for the device's use; moves no bytes but those in the spill file. */
  public void provideDeviceMemory() {
    lockMoving();
    try {
      bringBack(true);
      if (!copies.isShared()) {
        beginOnDevice();
      }
    } finally {
      moving().unlock();
    }
  }

  /** For work: it does not go on while another one moves the bytes. */
  private void lockMoving() {
    if (!moving().tryLock()) {
      try {
        context.waiters().stops();
        moving().lock();
      } finally {
        context.waiters().goesOn();
      }
    }
  }

  /** The device has written a range. */
  public void deviceWritten(long from, long to) {
    synchronized (storage) {
      if (state == BufferState.DEVICE_ONLY) {
        return;
      }
      if (state != BufferState.DEVICE_DIRTY) {
        dirty.clear();
        state = BufferState.DEVICE_DIRTY;
      }
      dirty.add(from, to);
    }
  }

  /**
   * A launch that will write a range was submitted. What comes behind it on the device may build on
   * that. {@link #deviceWriteSettled} follows.
   *
   * @param seen the {@link #revocations} before the bytes for the launch were pushed
   * @return whether the host's bytes count again if the launch fails
   */
  public boolean deviceWillWrite(long from, long to, int seen) {
    synchronized (storage) {
      unsettledWrites++;
      if (revocations != seen) {
        // A launch ahead has failed meanwhile, and this one fails with it.
        countHost(from, to);
        return false;
      }
      boolean hostIsValid = state == BufferState.SYNCHRONIZED || state == BufferState.HOST_DIRTY;
      deviceWritten(from, to);
      return hostIsValid && !copies.isShared();
    }
  }

  /**
   * A launch that was submitted to write a range has ended.
   *
   * @param revoked whether it failed and the host's bytes were valid before it. They are the valid
   *     ones then: every later write on the device was queued behind this launch, and fails with it
   */
  public void deviceWriteSettled(long from, long to, boolean revoked) {
    synchronized (storage) {
      unsettledWrites--;
      if (revoked) {
        revocations++;
        countHost(from, to);
      }
    }
  }

  /**
   * Checks that no launch writes the device's copy. Bytes have to be pushed under one only if a
   * launch ahead has failed. What asks for them fails with that, and must not touch the copy
   * before.
   */
  private void checkNoneWrites() {
    synchronized (storage) {
      if (unsettledWrites > 0) {
        throw new IllegalStateException("a kernel failed that " + storage + " depends on");
      }
    }
  }

  /** How often launches failed after others were submitted behind them. */
  public int revocations() {
    return revocations;
  }

  private void countHost(long from, long to) {
    if (state == BufferState.DEVICE_DIRTY || state == BufferState.SYNCHRONIZED) {
      state = BufferState.HOST_DIRTY;
    }
    dirty.add(from, to);
  }

  /**
   * The device may have written a part of a range: the host's bytes count, where they are valid and
   * nothing else on the device is newer.
   */
  public void deviceWriteFailed(long from, long to) {
    synchronized (storage) {
      boolean hostIsValid = state == BufferState.SYNCHRONIZED || state == BufferState.HOST_DIRTY;
      if (copies.isShared()) {
        return;
      }
      if (hostIsValid) {
        state = BufferState.HOST_DIRTY;
        dirty.add(from, to);
      } else if (state == BufferState.DEVICE_DIRTY) {
        // The two may differ now where they did not; one of them must count.
        dirty.add(from, to);
      }
    }
  }

  /** Copies bytes in, to the side that is newest. */
  public void copyIn(HostRegion source, long at) {
    long to = at + source.byteSize();
    if (copies.isShared() || writesOnHost()) {
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
                  () -> link().upload(source, copies.device(), at)));
    }
  }

  /** The block that a copy in would go to over the link; null if it goes elsewhere. */
  public @Nullable Block uploadTarget() {
    return copies.isShared() || writesOnHost() ? null : copies.device();
  }

  /** The block that a copy out would come from over the link; null if it comes from elsewhere. */
  public @Nullable Block downloadSource(long from, long to) {
    return copies.isShared() || hostHasNewest(from, to) ? null : copies.device();
  }

  /** A range was moved to {@link #uploadTarget} or from {@link #downloadSource} with others. */
  public void transferredInBatch(
      Direction direction, long from, long to, long elapsedNanos, TransferWay way) {
    storage.bufferCounters().accessed(true);
    countTransfer(direction, to - from, elapsedNanos, way);
    if (direction == Direction.HOST_TO_DEVICE) {
      deviceWritten(from, to);
    }
  }

  /** Copies bytes out, from the side that is newest. */
  public void copyOut(long at, HostRegion destination) {
    long to = at + destination.byteSize();
    if (copies.isShared() || hostHasNewest(at, to)) {
      destination.copyFrom(readable().asSlice(at, to - at), 0);
    } else {
      storage.bufferCounters().accessed(true);
      measure(
          Direction.DEVICE_TO_HOST,
          to - at,
          () -> link().download(copies.device(), at, destination));
    }
  }

  /** Sets bytes, on the side that is newest. */
  public void fill(long from, long to, FillPattern pattern) {
    if (copies.isShared() || writesOnHost()) {
      MemorySegment target = targetOnHost(from, to).asSlice(from, to - from);
      pattern.fill(target);
      TruncatedMapCheck.surface(target, target);
    } else {
      storage.bufferCounters().accessed(true);
      onDevice(from, to, () -> pattern.fill(link(), copies.device(), from, to - from));
    }
  }

  /** Writes a range of the device's copy, and keeps the state true whether that works or not. */
  public void onDevice(long from, long to, Runnable write) {
    try {
      write.run();
    } catch (RuntimeException | Error e) {
      deviceWriteFailed(from, to);
      throw e;
    }
    deviceWritten(from, to);
  }

  /**
   * Clears a buffer that was just made, without a change of state. It has a second copy if it was
   * suspended and resumed before this.
   */
  public void clear() {
    if (copies.hasHost() || !copies.hasDevice()) {
      FillPattern.of((byte) 0).fill(readable());
    }
    if (copies.hasDevice() && !copies.isShared()) {
      link().fill(copies.device(), 0, size, (byte) 0);
    }
  }

  /** Brings the bytes to a side before it asks for them. */
  public void prefetch(long from, long to, boolean toDevice) {
    if (toDevice) {
      deviceForRead(from, to);
    } else {
      hostForRead(from, to);
    }
    if (copies.isShared()) {
      link().prefetch(copies.device(), from, to - from, toDevice);
    }
  }

  /** Brings the bytes back to the device if they have no memory there; whether that was so. */
  public boolean returnToDevice() {
    lockMoving();
    try {
      boolean isAway = isOffDevice();
      if (isAway) {
        prefetch(0, size, true);
      }
      return isAway;
    } finally {
      moving().unlock();
    }
  }

  /** Makes both copies valid and equal in a range. */
  public void synchronize(long from, long to) {
    if (isHostNewest()) {
      deviceForRead(from, to);
    } else {
      hostForRead(from, to);
    }
  }

  /** Where a copy to this storage goes. An open mapping keeps its bytes on the host. */
  public boolean writesOnHost() {
    synchronized (storage) {
      return storage.isMapped()
          || (state != BufferState.DEVICE_ONLY && state != BufferState.DEVICE_DIRTY);
    }
  }

  /** The host's copy for a copy that will overwrite a range. */
  public MemorySegment targetOnHost(long from, long to) {
    return copies.isShared() ? sharedForWrite(from, to) : hostForWrite(from, to, true);
  }

  /** Whether the device's copy exists and no host bytes need it to stay as it is. */
  public boolean takesDeviceWrites() {
    synchronized (storage) {
      return !storage.isMapped()
          && copies.hasDevice()
          && state != BufferState.HOST_ONLY
          && state != BufferState.HOST_DIRTY;
    }
  }

  /** Whether the host's bytes of a range are the newest. */
  public boolean hostHasNewest(long from, long to) {
    synchronized (storage) {
      return switch (state) {
        case DEVICE_ONLY -> false;
        case DEVICE_DIRTY -> from < to && !copies.isShared() && !dirty.intersects(from, to);
        default -> true;
      };
    }
  }

  /** The shared block for a copy or a fill, which counts as a write where the newest bytes are. */
  private MemorySegment sharedForWrite(long from, long to) {
    lockMoving();
    try {
      bringBack(from > 0 || to < size);
      storage.bufferCounters().accessed(true);
      hold();
      if (writesOnHost()) {
        hostWritten(from, to);
      } else {
        deviceWritten(from, to);
      }
      return copies.host();
    } finally {
      moving().unlock();
    }
  }

  /** The host's copy for reading, of bytes that are known to be the newest. */
  public MemorySegment readable() {
    lockMoving();
    try {
      bringBack(true);
      storage.bufferCounters().accessed(true);
      hold();
      return copies.host();
    } finally {
      moving().unlock();
    }
  }

  /**
   * Brings what the other side has newer to memory that outlives the buffer. The arena of a
   * caller's memory is held open meanwhile, so that it cannot end under the copy.
   *
   * @throws IllegalStateException if that memory has ended
   */
  void writeBack() {
    lockMoving();
    try {
      if (!isMissingBytes()) {
        return;
      }
      if (copies.isDeviceForeign()) {
        push(0, size);
        return;
      }
      try (ArenaKeepAlive _ = copies.isCallers() ? hold(copies.host()) : null) {
        fetch(0, size);
      }
    } finally {
      moving().unlock();
    }
  }

  private static @Nullable ArenaKeepAlive hold(MemorySegment context) {
    try {
      return ArenaKeepAlive.of(context);
    } catch (UnsupportedOperationException notHere) {
      // Without native access the arena can be closed, which the copy then fails with.
      return null;
    }
  }

  /** Whether the memory that outlives the buffer, on one side, has not the newest bytes. */
  private boolean isMissingBytes() {
    return !copies.isShared()
        && !copies.isAmongProcesses()
        && (copies.isDeviceForeign() ? !isDeviceNewest() : !isHostNewest());
  }

  /** How many bytes that memory is missing; 0 where one block is both copies. */
  long missingBytes() {
    synchronized (storage) {
      return isMissingBytes()
          ? dirty.within(0, size).stream().mapToLong(DirtyRanges.Range::bytes).sum()
          : 0;
    }
  }

  /** Whether there is a device copy that may be given up, since the host's can replace it. */
  public boolean isEvictable() {
    return !copies.isShared()
        && copies.hasDevice()
        && !copies.isDeviceForeign()
        && !storage.isHeldOnDevice();
  }

  /** Whether a copy can be given up without a place for its bytes. */
  public boolean hasTwoCopies() {
    return isEvictable() && copies.hasHost();
  }

  /** Fetches what only the device has and gives its copy up; null if there is none to give. */
  public @Nullable Lease evictDevice() {
    moving().lock();
    try {
      if (!isEvictable()) {
        return null;
      }
      if (!isHostNewest() && !copies.hasHost()) {
        copies.setHost(context.blocks().forHostInRecovery(size, storage.core()));
      }
      fetchNewer();
      // First, because what is overwritten must not count any more.
      becomeHostOnly();
      context.scrubber().overwrite(copies);
      context.registry().relocated(storage.core());
      return copies.detachDevice();
    } finally {
      moving().unlock();
    }
  }

  /** Whether a copy that is given up would be fetched first, to a place that is there already. */
  public boolean canPrefetch() {
    return hasTwoCopies() && !isHostNewest();
  }

  /** Fetches what is newer on the device, so that its copy may be given up at once later on. */
  public void prefetch() {
    moving().lock();
    try {
      if (canPrefetch()) {
        fetchNewer();
      }
    } finally {
      moving().unlock();
    }
  }

  private void fetchNewer() {
    if (!isHostNewest()) {
      beginOnHost(BufferState.DEVICE_DIRTY);
      fetch(0, size);
    }
  }

  /** Whether there is memory that {@link #spill} could give up. */
  boolean isSpillable() {
    return (copies.hasHost() || copies.hasDevice())
        && copies.isHostOwned()
        && size > 0
        && !storage.isHeldByHost()
        && !storage.isHeldOnDevice()
        && !copies.isDeviceForeign();
  }

  /**
   * Writes the newest bytes to a file and gives all memory up; false if the host's bytes must stay.
   * What users see of the state changes as if a device copy was evicted.
   *
   * @throws dev.tidepool.TransferException if the file takes no more; nothing has changed then
   */
  public boolean spill(SpillStore spilling) {
    List<Lease> freed;
    boolean clean;
    moving().lock();
    try {
      if (!isSpillable()) {
        return false;
      }
      SpillFile.Extent extent = spilling.reserve(size);
      try {
        writeTo(extent);
        handBack();
      } catch (RuntimeException | Error e) {
        extent.drop();
        throw e;
      }
      spilling.spilled();
      context.registry().addWithoutBlock(storage.core());
      if (!copies.isShared()) {
        becomeHostOnly();
      }
      context.releases().inspectGuards(storage);
      Block abandoned = context.scrubber().beyondPools(copies);
      freed = copies.detachAll(extent);
      clean = abandoned == null || context.scrubber().overwroteQuietly(abandoned);
    } finally {
      moving().unlock();
    }
    freed.forEach(clean ? Lease::release : Lease::discard);
    return true;
  }

  private void writeTo(SpillFile.Extent extent) {
    if (copies.hasHost()) {
      hold();
      if (!copies.isShared() && !isHostNewest()) {
        fetch(0, size);
      }
      extent.write(0, copies.host());
      return;
    }
    // The host has no room for a copy, so the bytes pass through.
    long step = Math.min(size, context.stagingChunk());
    Lease staging = context.blocks().forStaging(step);
    try {
      MemorySegment block = Objects.requireNonNull(staging.block().segment(), "staging");
      for (long at = 0; at < size; at += step) {
        MemorySegment part = block.asSlice(0, Math.min(step, size - at));
        HostRegion passing = new HostRegion.Segment(part, true);
        long from = at;
        var _ = TransferContext.aside(() -> link().download(copies.device(), from, passing));
        extent.write(at, part);
      }
    } finally {
      staging.release();
    }
  }

  /**
   * Gives a storage whose bytes are in a file its memory again; {@code moving} is held.
   *
   * @param read whether the bytes are needed
   */
  private void bringBack(boolean read) {
    SpillFile.Extent extent = copies.spilled();
    if (extent == null) {
      return;
    }
    SpillStore spilling = Objects.requireNonNull(context.spilling(), "the file of this storage");
    BufferCore core = storage.core();
    boolean asBorn = copies.isShared() || core.location() != MemoryLocation.DEVICE;
    Lease lease =
        asBorn
            ? context.blocks().forReturn(size, core.allocation(), core)
            : context.blocks().forHost(size, core);
    try {
      if (read) {
        fill(lease, extent);
      }
    } catch (RuntimeException | Error e) {
      if (takesTurns(lease)) {
        // Whether the host or the device has it is not known for certain.
        lease.discard();
      } else {
        lease.release();
      }
      throw e;
    }
    copies.attach(lease);
    spilling.broughtBack();
    context.registry().removeWithoutBlock(core);
    extent.drop();
  }

  private void fill(Lease lease, SpillFile.Extent extent) {
    if (takesTurns(lease)) {
      link().acquire(lease.block());
    }
    try {
      extent.read(copies.segment(lease));
    } finally {
      if (takesTurns(lease)) {
        link().release(lease.block());
      }
    }
  }

  /** Whether host and device take a block in turn that is about to be both copies. */
  private boolean takesTurns(Lease lease) {
    return copies.isShared() && BackingBlocks.isMapped(lease.block());
  }

  private void becomeHostOnly() {
    synchronized (storage) {
      state = BufferState.HOST_ONLY;
      dirty.clear();
    }
  }

  private boolean isHostNewest() {
    synchronized (storage) {
      return state != BufferState.DEVICE_ONLY && state != BufferState.DEVICE_DIRTY;
    }
  }

  private boolean isDeviceNewest() {
    synchronized (storage) {
      return state != BufferState.HOST_ONLY && state != BufferState.HOST_DIRTY;
    }
  }

  /** Whether the device's bytes of a range are the newest. */
  public boolean deviceHasNewest(long from, long to) {
    synchronized (storage) {
      return switch (state) {
        case HOST_ONLY -> false;
        case HOST_DIRTY -> from < to && !copies.isShared() && !dirty.intersects(from, to);
        default -> true;
      };
    }
  }

  /** The host has written a range, or may do so any moment. */
  void hostWritten(long from, long to) {
    synchronized (storage) {
      if (state == BufferState.HOST_ONLY) {
        return;
      }
      if (state != BufferState.HOST_DIRTY) {
        dirty.clear();
        state = BufferState.HOST_DIRTY;
      }
      dirty.add(from, to);
    }
  }

  /** Makes the host's copy where there is none; all of it is still the device's then. */
  private void beginOnHost(BufferState next) {
    if (copies.isAmongProcesses()) {
      throw new UnsupportedOperationException(
          storage
              + " is shared with other processes on the device, of whose writes a view of the host"
              + " would not know; copy from it and to it");
    }
    if (!copies.hasHost()) {
      copies.setHost(context.blocks().forHost(size, storage.core()));
    }
    begin(BufferState.DEVICE_ONLY, next);
  }

  /** Makes the device's copy where there is none; all of it is still the host's then. */
  private void beginOnDevice() {
    if (!copies.hasDevice()) {
      copies.setDevice(context.blocks().forDevice(size, storage.core()));
    }
    begin(BufferState.HOST_ONLY, BufferState.HOST_DIRTY);
  }

  private void begin(BufferState alone, BufferState next) {
    synchronized (storage) {
      if (state == alone) {
        state = next;
        dirty.clear();
        dirty.add(0, size);
      }
    }
  }

  private void fetch(long from, long to) {
    transferAndMark(Direction.DEVICE_TO_HOST, dirtyWithin(from, to));
  }

  private void push(long from, long to) {
    transferAndMark(Direction.HOST_TO_DEVICE, dirtyWithin(from, to));
  }

  private void fetchAllBut(long from, long to, boolean overwritten) {
    allBut(Direction.DEVICE_TO_HOST, from, to, overwritten);
  }

  private void pushAllBut(long from, long to, boolean overwritten) {
    allBut(Direction.HOST_TO_DEVICE, from, to, overwritten);
  }

  private void allBut(Direction direction, long from, long to, boolean overwritten) {
    if (overwritten && from < to) {
      transferAndMark(direction, dirtyWithin(0, from));
      transferAndMark(direction, dirtyWithin(to, size));
    } else {
      transferAndMark(direction, dirtyWithin(0, size));
    }
  }

  private List<DirtyRanges.Range> dirtyWithin(long from, long to) {
    synchronized (storage) {
      return dirty.within(from, to);
    }
  }

  /**
   * Moves ranges, all of them at once, and marks them as equal when all have arrived. If that
   * fails, none is marked: what arrived already travels again.
   */
  private void transferAndMark(Direction direction, List<DirtyRanges.Range> ranges) {
    if (!copies.isShared() && !ranges.isEmpty()) {
      long bytes = ranges.stream().mapToLong(DirtyRanges.Range::bytes).sum();
      if (direction == Direction.HOST_TO_DEVICE) {
        checkNoneWrites();
      }
      measure(direction, bytes, () -> TransferContext.aside(() -> transfer(direction, ranges)));
    }
    synchronized (storage) {
      ranges.forEach(range -> dirty.remove(range.from(), range.to()));
      if (dirty.isEmpty()) {
        state = BufferState.SYNCHRONIZED;
      }
    }
  }

  private TransferWay transfer(Direction direction, List<DirtyRanges.Range> ranges) {
    boolean up = direction == Direction.HOST_TO_DEVICE;
    if (ranges.size() > 1) {
      List<CoalescedCopy.Move> moves = ranges.stream().map(this::moveOf).toList();
      return up ? link().coalesced().upload(moves) : link().coalesced().download(moves);
    }
    CoalescedCopy.Move only = moveOf(ranges.getFirst());
    return up
        ? link().upload(only.bytes(), only.block(), only.offset())
        : link().download(only.block(), only.offset(), only.bytes());
  }

  private CoalescedCopy.Move moveOf(DirtyRanges.Range range) {
    MemorySegment host = copies.host().asSlice(range.from(), range.bytes());
    return new CoalescedCopy.Move(
        new HostRegion.Segment(host, copies.isHostDirect()), copies.device(), range.from());
  }

  /** Counts a movement that was made elsewhere. */
  public void countTransfer(Direction direction, long bytes, long elapsedNanos, TransferWay way) {
    context.meter().moved(direction, bytes, elapsedNanos, way);
    storage.bufferCounters().moved(direction, bytes, elapsedNanos);
  }

  private void measure(Direction direction, long bytes, Supplier<TransferWay> movement) {
    TransferEvent event = Flight.transfer();
    long start = System.nanoTime();
    TransferWay way = movement.get();
    long elapsed = System.nanoTime() - start;
    if (event != null) {
      event.moved(context.id(), direction.name(), way, storage.core().tag(), bytes);
    }
    countTransfer(direction, bytes, elapsed, way);
  }

  /** The host takes a mapped block. */
  private void hold() {
    if (copies.isMapped() && !hostHolds) {
      link().acquire(copies.device());
      hostHolds = true;
    }
  }

  /** The device takes a mapped block back, unless an open mapping only reads it. */
  private void yieldToDevice() {
    if (hostHolds && !storage.isMapped()) {
      link().release(copies.device());
      hostHolds = false;
    }
  }

  /**
   * Hands what the host wrote to a mapped block over to the device, before a mapping begins under
   * which the device may read.
   */
  public void publish() {
    moving().lock();
    try {
      yieldToDevice();
    } finally {
      moving().unlock();
    }
  }

  /** A mapped block goes back to its pool as it came: released. */
  void beforeFree() {
    if (moving == null) {
      return; // The host never took it.
    }
    moving().lock();
    try {
      handBack();
    } finally {
      moving().unlock();
    }
  }

  private void handBack() {
    if (hostHolds) {
      link().release(copies.device());
      // Set last: if the release fails the host still has the block, and a failed spill goes on
      // with it.
      hostHolds = false;
    }
  }

  private DeviceLink link() {
    return context.link();
  }
}
