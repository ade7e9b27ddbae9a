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
 * The memory of a storage: a block on the host, a block on the device, or one block that is both.
 * While memory is short, it may be a part of a spill file instead.
 *
 * <p>Changed by an operation in the storage's queue, or by the thread that moves the bytes while no
 * operation {@linkplain UseState occupies} them. All changes but {@link #moved} need the lock
 * {@code moving} of {@link Coherence}. Later operations see the changes through the storage's
 * monitor.
 */
public final class BackingBlocks {
  private final long byteSize;
  private final boolean shared;
  private final boolean owned;
  private final @Nullable Runnable ending;
  private boolean locked;
  private boolean amongProcesses;
  // Whether another library frees the memory, and whether no thread waits for that.
  private boolean endsElsewhere;
  private volatile boolean abandoned;
  private @Nullable Object file;
  private @Nullable Lease hostLease;
  private @Nullable Lease deviceLease;
  private @Nullable AdoptedHostMemory adopted;
  private @Nullable Block foreignBlock;
  private @Nullable MemorySegment host;
  private @Nullable Block device;
  // The place of the bytes while there is no block.
  private SpillFile.@Nullable Extent spilled;

  private BackingBlocks(long byteSize, boolean shared, boolean owned, @Nullable Runnable ending) {
    this.byteSize = byteSize;
    this.shared = shared;
    this.owned = owned;
    this.ending = ending;
  }

  /** Returns the memory of a new buffer: its first block, on the device or on the host. */
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
   * Returns memory that the library does not own.
   *
   * @param adopted the device's block over the memory, if it can access it
   * @param ending frees the memory when the storage is freed; null if the caller does that
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
   * Returns host memory of another library.
   *
   * @param block the device's block over the memory, if it can access it
   * @param ending releases the memory
   */
  public static BackingBlocks adopted(
      AdoptedHostMemory memory, @Nullable Block block, Runnable ending) {
    BackingBlocks backing = foreign(memory.memory(), block, ending, null);
    backing.adopted = memory;
    backing.endsElsewhere = true;
    return backing;
  }

  /**
   * Returns page-locked memory that the library does not own. It outlives this object.
   *
   * @param ending unlocks the memory
   */
  public static BackingBlocks locked(MemorySegment memory, Runnable ending) {
    BackingBlocks backing = foreign(memory, null, ending, null);
    backing.locked = true;
    return backing;
  }

  /**
   * Returns memory of a device that other processes write too. It never has a second copy, which
   * would miss their writes.
   *
   * @param ending ends this process's use of the memory
   */
  public static BackingBlocks amongProcesses(long byteSize, Block block, Runnable ending) {
    BackingBlocks backing = new BackingBlocks(byteSize, false, true, ending);
    backing.device = block;
    backing.amongProcesses = true;
    return backing;
  }

  /**
   * Returns device memory of another library. It stays the device's copy. If the host can access
   * it, it is the host's copy too; else that is made when needed.
   *
   * @param whole the block to free at the end
   * @param block the part of {@code whole} that is the buffer
   * @param ending releases the memory, after that
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

  /** Returns whether the only copy is device memory that other processes share. */
  public boolean isAmongProcesses() {
    return amongProcesses;
  }

  /** Returns whether another library owns the device's copy, which cannot be freed or moved. */
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
   * Returns whether the bytes outlive the buffer: a caller, a file, another library or other
   * processes have them too.
   */
  boolean outlivesBuffer() {
    return !owned || isDeviceForeign();
  }

  /** Returns whether the memory belongs to a caller, whose arena may be closed at any time. */
  boolean isCallers() {
    return !owned && !locked && ending == null;
  }

  /** Returns the key that identifies the mapped file; null for all other memory. */
  public @Nullable Object file() {
    return file;
  }

  /** Returns whether drivers may access the host's copy directly. */
  public boolean isHostDirect() {
    return owned || locked;
  }

  /** Returns whether the memory is still valid; a caller's arena may have been closed. */
  boolean isAlive() {
    return owned || host().scope().isAlive();
  }

  /**
   * Returns whether the host must acquire the shared block before an access. A buffer may return
   * from a file to another kind of memory.
   */
  boolean isMapped() {
    Block both = shared ? device : null;
    return both != null && isMapped(both);
  }

  /** Returns whether the host must acquire a shared block before an access. */
  static boolean isMapped(Block both) {
    return both.hostAccess() == HostAccess.MAPPED;
  }

  boolean hasHost() {
    return host != null;
  }

  public boolean hasDevice() {
    return device != null;
  }

  /** Returns the host's copy, which has exactly as many bytes as the storage. */
  public MemorySegment host() {
    return Objects.requireNonNull(host, "no host copy");
  }

  /** Returns the host's copy for users: access fails after the memory is released. */
  public MemorySegment handedOut() {
    return adopted == null ? host() : adopted.handedOut();
  }

  public Block device() {
    return Objects.requireNonNull(device, "no device copy");
  }

  /** Adds a host copy. If this throws, nothing has changed, and the caller still owns the lease. */
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

  /** Returns the bytes of a block that the host can access, exactly as many as the storage has. */
  public MemorySegment segment(Lease lease) {
    return lease.segment().asSlice(0, byteSize);
  }

  void setDevice(Lease lease) {
    deviceLease = lease;
    device = lease.block();
  }

  /** Detaches the device's copy from a storage that has both copies. */
  Lease detachDevice() {
    Lease detached = Objects.requireNonNull(deviceLease, "no device copy");
    deviceLease = null;
    device = null;
    return detached;
  }

  /** Returns whether the device's copy is in that block and may be moved to another. */
  public boolean isMovableFrom(PooledBlock block) {
    return deviceLease != null && deviceLease.isOf(block) && !isMapped();
  }

  /**
   * Replaces the block of the device's copy, or the one that is both copies. Throws nothing, and
   * creates no object.
   *
   * @param bytes the host's view of the new block if it is both copies; else unused
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

  /** Returns the place of spilled bytes; null while the bytes are in memory. */
  SpillFile.@Nullable Extent spilled() {
    return spilled;
  }

  /**
   * Detaches all {@linkplain #leases blocks} from a storage whose bytes are in a file now. Throws
   * nothing, and creates no object.
   */
  void detachAll(SpillFile.Extent extent) {
    spilled = extent;
    hostLease = null;
    deviceLease = null;
    host = null;
    device = null;
  }

  /**
   * Attaches a block to a spilled storage, as both copies or as the host's. If this throws, the
   * bytes are still in the file, and the caller still owns the lease.
   */
  void attach(Lease lease) {
    if (shared) {
      setBoth(lease);
    } else {
      setHost(lease);
    }
    spilled = null;
  }

  /** Returns the blocks that the library owns. */
  List<Block> owned() {
    return leases().stream().map(Lease::block).toList();
  }

  /** Returns the leases of these blocks. */
  List<Lease> leases() {
    return Stream.of(hostLease, deviceLease).flatMap(Stream::ofNullable).toList();
  }

  /**
   * Releases all memory.
   *
   * @param hostReusable whether memory that the host can access may be reused
   * @param deviceReusable whether memory of the device alone may be reused
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
      // Even if the device fails: foreign memory is released, and mapped files are unmapped.
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

  /** Returns whether the buffer frees or releases memory that the library does not own. */
  public boolean endsMemory() {
    return ending != null;
  }

  /** Notes that no handle is left, so that no thread waits for the release by another library. */
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
