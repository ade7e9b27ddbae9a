package dev.tidepool.runtime.storage;

import dev.tidepool.Capability;
import dev.tidepool.MemoryLocation;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.pool.block.PooledBlock;
import dev.tidepool.runtime.order.UseState;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The memory behind a storage: a block on the host, a block on the device, or one block that is
 * both; or a part of a spill file while there is no room for any.
 *
 * <p>Changed only under the lock {@code moving} of {@link Coherence}, by work in the storage's
 * queue or by the thread that moves the bytes while no work {@linkplain UseState occupies} them;
 * work that begins later sees it through the storage's monitor.
 */
public final class BackingBlocks {
  private final long byteSize;
  private final boolean shared;
  private final boolean owned;
  private final @Nullable Runnable ending;
  private boolean locked;
  private boolean amongProcesses;
  // Whether another library ends the memory, and whether no thread waits for that.
  private boolean endsElsewhere;
  private volatile boolean abandoned;
  private @Nullable Object file;
  private @Nullable Lease hostLease;
  private @Nullable Lease deviceLease;
  private @Nullable AdoptedHostMemory adopted;
  private @Nullable Block foreignBlock;
  private @Nullable MemorySegment host;
  private @Nullable Block device;
  // Where the bytes are when there is no block at all.
  private SpillFile.@Nullable Extent spilled;

  private BackingBlocks(long byteSize, boolean shared, boolean owned, @Nullable Runnable ending) {
    this.byteSize = byteSize;
    this.shared = shared;
    this.owned = owned;
    this.ending = ending;
  }

  /** The one block that a buffer is allocated with, on a device or beside it. */
  static BackingBlocks initial(Device device, MemoryLocation location, long byteSize, Lease lease) {
    boolean shared =
        device.info().can(Capability.SHARED_MEMORY) || location == MemoryLocation.UNIFIED;
    BackingBlocks backing = new BackingBlocks(byteSize, shared, true, null);
    if (shared) {
      backing.setBoth(lease);
    } else if (location == MemoryLocation.DEVICE) {
      backing.setDevice(lease);
    } else {
      backing.setHost(lease);
    }
    return backing;
  }

  /**
   * Memory that is not the library's.
   *
   * @param adopted the device's block over it, if the device reaches it
   * @param ending ends the memory when the storage is freed; null if the caller does that
   * @param file the key of a mapped file, which does not depend on its name; null for all other
   *     memory
   */
  public static BackingBlocks foreign(
      MemorySegment memory,
      @Nullable Block adopted,
      @Nullable Runnable ending,
      @Nullable Object file) {
    BackingBlocks backing = new BackingBlocks(memory.byteSize(), adopted != null, false, ending);
    backing.file = file;
    backing.host = memory;
    backing.device = adopted;
    backing.foreignBlock = adopted;
    return backing;
  }

  /**
   * Memory of another library on the host.
   *
   * @param block the device's block over it, if the device reaches it
   * @param ending gives the memory back
   */
  public static BackingBlocks adopted(
      AdoptedHostMemory memory, @Nullable Block block, Runnable ending) {
    BackingBlocks backing = foreign(memory.memory(), block, ending, null);
    backing.adopted = memory;
    backing.endsElsewhere = true;
    return backing;
  }

  /**
   * Memory that is not the library's. It is page-locked and cannot end before this does.
   *
   * @param ending unlocks it
   */
  public static BackingBlocks locked(MemorySegment memory, Runnable ending) {
    BackingBlocks backing = foreign(memory, null, ending, null);
    backing.locked = true;
    return backing;
  }

  /**
   * Memory of a device that other processes change too: there is never a second copy, which would
   * not know of that.
   *
   * @param ending what ends this process's use of it
   */
  public static BackingBlocks amongProcesses(long byteSize, Block block, Runnable ending) {
    BackingBlocks backing = new BackingBlocks(byteSize, false, true, ending);
    backing.device = block;
    backing.amongProcesses = true;
    return backing;
  }

  /**
   * Memory of another library on the device. It stays the device's copy until the end. If the host
   * reaches it, it is the host's copy too; else that is made when it is needed.
   *
   * @param whole is freed at the end
   * @param block the part of it that is the buffer
   * @param ending gives the memory back, after that
   */
  public static BackingBlocks onDevice(Block whole, Block block, Runnable ending) {
    MemorySegment segment = block.segment();
    BackingBlocks backing =
        new BackingBlocks(block.byteSize(), segment != null, segment == null, ending);
    backing.host = segment;
    backing.device = block;
    backing.foreignBlock = whole;
    backing.endsElsewhere = true;
    return backing;
  }

  /** Returns whether the only copy is a device's that other processes have too. */
  public boolean isAmongProcesses() {
    return amongProcesses;
  }

  /** Returns whether the device's copy is not the library's, which cannot give it up or move it. */
  public boolean isDeviceForeign() {
    return device != null && deviceLease == null && !shared;
  }

  /** Returns whether one block is both copies. */
  public boolean isShared() {
    return shared;
  }

  /** Returns true if the library allocated the host's copy. */
  public boolean isHostOwned() {
    return owned;
  }

  /**
   * Returns whether the bytes are still there when the buffer is gone: they are the caller's, a
   * file's, another library's, or other processes' too.
   */
  boolean outlivesBuffer() {
    return !owned || isDeviceForeign();
  }

  /** Returns whether the memory is the caller's, whose arena may be closed at any time. */
  boolean isCallers() {
    return !owned && !locked && ending == null;
  }

  /** Returns the key that identifies the mapped file; null for all other memory. */
  public @Nullable Object file() {
    return file;
  }

  /** Returns whether drivers may use the host's copy where it lies. */
  public boolean isHostDirect() {
    return owned || locked;
  }

  /** Returns whether the memory is still there; the caller's may have ended. */
  boolean isAlive() {
    return owned || host().scope().isAlive();
  }

  /**
   * Returns whether the host must ask before it touches the one block that there is. A buffer may
   * come back from a file in another kind of memory.
   */
  boolean isMapped() {
    Block both = shared ? device : null;
    return both != null && isMapped(both);
  }

  /** Returns whether the host must ask before it touches a block that it shares with the device. */
  static boolean isMapped(Block both) {
    return both.hostAccess() == HostAccess.MAPPED;
  }

  boolean hasHost() {
    return host != null;
  }

  public boolean hasDevice() {
    return device != null;
  }

  /** Returns the host's copy, exactly as long as the storage. */
  public MemorySegment host() {
    return Objects.requireNonNull(host, "no host copy");
  }

  /** Returns the host's copy as users get it: access fails after the memory is released. */
  public MemorySegment handedOut() {
    return adopted == null ? host() : adopted.handedOut();
  }

  public Block device() {
    return Objects.requireNonNull(device, "no device copy");
  }

  /** Adds a host copy. If this throws, nothing has changed, and the lease is the caller's. */
  void setHost(Lease lease) {
    MemorySegment bytes = segment(lease);
    hostLease = lease;
    host = bytes;
  }

  private void setBoth(Lease lease) {
    MemorySegment bytes = segment(lease);
    setDevice(lease);
    host = bytes;
  }

  /** Returns the bytes of a block that the host reaches, exactly as many as the storage has. */
  public MemorySegment segment(Lease lease) {
    return Objects.requireNonNull(lease.block().segment(), "a host block has a segment")
        .asSlice(0, byteSize);
  }

  void setDevice(Lease lease) {
    deviceLease = lease;
    device = lease.block();
  }

  /** Takes the device's copy away from a storage that has both. */
  Lease detachDevice() {
    Lease detached = Objects.requireNonNull(deviceLease, "no device copy");
    deviceLease = null;
    device = null;
    return detached;
  }

  /** Returns whether the device's copy is in that block, and may lie in another. */
  public boolean isMovableFrom(PooledBlock block) {
    return deviceLease != null && deviceLease.isOf(block) && !isMapped();
  }

  /**
   * Notes that the device's copy, or the one that is both, lies in another block now. Throws
   * nothing, and makes no object.
   *
   * @param bytes of the block that the host reaches, if it is both copies; not used else
   * @return the old block's lease
   */
  public Lease moved(Lease to, @Nullable MemorySegment bytes) {
    Lease old = Objects.requireNonNull(deviceLease, "no device copy");
    setDevice(to);
    if (shared) {
      host = bytes;
    }
    return old;
  }

  /** Where the bytes are if they are in no memory. */
  SpillFile.@Nullable Extent spilled() {
    return spilled;
  }

  /**
   * Takes all {@linkplain #leases blocks} away from a storage whose bytes are in a file now. Throws
   * nothing, and makes no object.
   */
  void detachAll(SpillFile.Extent extent) {
    spilled = extent;
    hostLease = null;
    deviceLease = null;
    host = null;
    device = null;
  }

  /**
   * Gives a storage that was spilled a block again: both copies, or the host's. If this throws, the
   * bytes are still in the file, and the lease is the caller's.
   */
  void attach(Lease lease) {
    if (shared) {
      setBoth(lease);
    } else {
      setHost(lease);
    }
    spilled = null;
  }

  /** Returns the blocks that it has, without memory that is not the library's. */
  List<Block> owned() {
    return leases().stream().map(Lease::block).toList();
  }

  /** Returns the leases that it has. */
  List<Lease> leases() {
    return Stream.of(hostLease, deviceLease).flatMap(Stream::ofNullable).toList();
  }

  /**
   * Gives everything back.
   *
   * @param hostReusable whether what the host reaches may have another owner
   * @param deviceReusable whether the device's own memory may
   */
  void free(boolean hostReusable, boolean deviceReusable) {
    giveBack(hostLease, hostReusable);
    giveBack(deviceLease, shared ? hostReusable : deviceReusable);
    if (spilled != null) {
      spilled.drop();
    }
    try {
      if (foreignBlock != null) {
        foreignBlock.free();
      }
    } finally {
      // Whatever the device says: files of others' memory are left, and its mapping ends.
      end();
    }
  }

  private void end() {
    if (ending == null) {
      return;
    }
    if (endsElsewhere && abandoned) {
      AbandonedMemory.giveBack(ending);
    } else {
      ending.run();
    }
  }

  /** Returns whether memory that is not the library's ends with the buffer. */
  public boolean endsMemory() {
    return ending != null;
  }

  /** No handle is left, so no thread waits for another library to take its memory back. */
  void abandon() {
    abandoned = true;
  }

  private static void giveBack(@Nullable Lease lease, boolean reusable) {
    if (lease == null) {
      return;
    }
    if (reusable) {
      lease.release();
    } else {
      lease.discard();
    }
  }
}
