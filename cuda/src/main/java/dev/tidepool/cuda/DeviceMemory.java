package dev.tidepool.cuda;

import dev.tidepool.AcceleratorException;
import dev.tidepool.MemoryInfo;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.cuda.ipc.DescriptorExchange;
import dev.tidepool.host.HostMemory;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.PinnedRanges;
import dev.tidepool.spi.Placement;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.FailureLog;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a device. This class chooses the driver's way to allocate each kind of block.
 *
 * <p>Device memory comes from a pool of the driver, through a stream that is used for nothing else.
 * The pool is Tidepool's own or, on request, the device's current one, which other libraries of the
 * process use, too. {@code cuMemFree} waits until the whole device is idle, so trimming a pool
 * would delay every kernel; {@code cuMemFreeAsync} does not wait. The driver's pool keeps nothing
 * by default: Tidepool's pools keep blocks, and the memory that they release should be free for all
 * processes. If the pool has no room for a block in one place, the block is mapped from pieces
 * ({@link MappedMemory}). By default, blocks are mapped only then, because unmapping may wait for
 * the device as {@code cuMemFree} does.
 *
 * <p>Thread-safe; holds no lock.
 */
final class DeviceMemory {
  /** The host memory that the driver has page-locked, for any of its devices. */
  static final PinnedRanges LOCKED = new PinnedRanges();

  private static final long NO_POOL = 0;

  /** The source of device memory. */
  enum Origin {
    /**
     * A pool of the driver that no other library uses. If the driver has or allows none, a call of
     * the driver for each block.
     */
    OWN_POOL,
    /**
     * The device's pool that libraries share, with its settings; otherwise a call for each block.
     */
    CURRENT_POOL,
    /** A call of the driver for each block. */
    PLAIN
  }

  private final String name;
  private final DeviceProperties device;
  private final Context context;
  private final ManagedMemory managed;
  private final MemorySource deviceSource;
  private final boolean mapsAlways;
  private final @Nullable MappedMemory mapped;
  private final boolean ownsPool;
  private final long pool;
  private final long service;

  /** Creates pool and stream; the context is current. */
  DeviceMemory(String name, DeviceProperties device, Context context, Settings settings) {
    this.name = name;
    this.device = device;
    this.context = context;
    this.managed = new ManagedMemory(name, device, settings.managed());
    Origin wanted = device.memoryPools() ? settings.deviceMemory() : Origin.PLAIN;
    this.pool = pool(wanted, settings.releaseThreshold());
    this.deviceSource = pool == NO_POOL ? MemorySource.PLAIN : MemorySource.POOL;
    this.ownsPool = pool != NO_POOL && wanted == Origin.OWN_POOL;
    try {
      this.service = Cuda.cuStreamCreateWithPriority(0);
    } catch (RuntimeException | Error refused) {
      destroyPool();
      throw refused;
    }
    this.mapsAlways = settings.mapping() == Settings.Mapping.ALWAYS;
    this.mapped =
        device.virtualMemory() && settings.mapping() != Settings.Mapping.NONE
            ? MappedMemory.reserve(device, context)
            : null;
  }

  /** Returns the pool for device memory; none if the driver refuses it. */
  private long pool(Origin origin, long threshold) {
    try {
      return switch (origin) {
        case OWN_POOL -> createPool(threshold);
        case CURRENT_POOL -> Cuda.cuDeviceGetMemPool(device.handle());
        case PLAIN -> NO_POOL;
      };
    } catch (AcceleratorException refused) {
      FailureLog.ofDriver(
          DeviceMemory.class,
          Level.INFO,
          name,
          " has no pool of device memory, and frees wait for the device",
          refused);
      return NO_POOL;
    }
  }

  private long createPool(long threshold) {
    long created = Cuda.cuMemPoolCreate(device.handle());
    try {
      Cuda.cuMemPoolSetReleaseThreshold(created, threshold);
      Cuda.cuMemPoolForbidWaits(created);
      return created;
    } catch (RuntimeException | Error refused) {
      Closing.surviving(() -> Cuda.cuMemPoolDestroy(created));
      throw refused;
    }
  }

  private void destroyPool() {
    if (ownsPool) {
      Closing.surviving(() -> Cuda.cuMemPoolDestroy(pool));
    }
  }

  Context context() {
    return context;
  }

  /** Returns whether UNIFIED memory is available. */
  boolean hasManaged() {
    return managed.isThere();
  }

  /** Returns the bytes of the largest block of a kind. */
  long largest(BlockKind kind) {
    return kind == BlockKind.UNIFIED ? managed.largest() : device.totalMemory();
  }

  MemoryInfo info() {
    long[] freeAndTotal = context.call(Cuda::cuMemGetInfo);
    return new MemoryInfo(freeAndTotal[1], freeAndTotal[0], false);
  }

  CudaBlock allocate(long bytes, long alignment, BlockKind kind, Placement placement) {
    if (bytes < 1 || Long.bitCount(alignment) != 1) {
      throw new IllegalArgumentException(
          "a block of " + bytes + " bytes aligned to " + alignment + " cannot be");
    }
    MemorySource source =
        switch (kind) {
          case DEVICE -> deviceSource;
          case PINNED ->
              placement.mostlyDevice() ? MemorySource.WRITE_COMBINED : MemorySource.PINNED;
          case UNIFIED -> MemorySource.MANAGED;
        };
    if (source == MemorySource.MANAGED) {
      managed.require(bytes);
    }
    if (kind == BlockKind.DEVICE && mapped != null && mapped.serves(bytes)) {
      return mapsAlways && mapped.suits(bytes)
          ? mapped(mapped, bytes, alignment)
          : wholeOrMapped(mapped, bytes, alignment);
    }
    return whole(bytes, alignment, source, placement);
  }

  /**
   * Allocates one piece. Reading the host's free memory takes a lock, so it happens when the
   * context is no longer current.
   */
  private CudaBlock whole(long bytes, long alignment, MemorySource source, Placement placement) {
    try {
      return context.call(() -> allocate(bytes, alignment, source, placement));
    } catch (AcceleratorException refused) {
      throw refused.code() == ErrorCodes.CUDA_ERROR_OUT_OF_MEMORY
          ? outOfMemory(bytes, source, refused)
          : refused;
    }
  }

  private CudaBlock wholeOrMapped(MappedMemory pieces, long bytes, long alignment) {
    try {
      return whole(bytes, alignment, deviceSource, Placement.ANYWHERE);
    } catch (OutOfDeviceMemoryException refused) {
      try {
        return mapped(pieces, bytes, alignment);
      } catch (OutOfDeviceMemoryException | AcceleratorException nothing) {
        refused.addSuppressed(nothing);
        throw refused;
      }
    }
  }

  private CudaBlock mapped(MappedMemory pieces, long bytes, long alignment) {
    return roomFor(bytes, () -> mappedAt(pieces.allocate(bytes, alignment), bytes));
  }

  private CudaBlock mappedAt(long address, long bytes) {
    return new CudaBlock(this, MemorySource.MAPPED, HostAccess.NONE, address, address, bytes);
  }

  private <T> T roomFor(long bytes, Supplier<T> mapping) {
    try {
      return mapping.get();
    } catch (AcceleratorException refused) {
      throw switch (refused.code()) {
        case ErrorCodes.CUDA_ERROR_OUT_OF_MEMORY ->
            outOfMemory(bytes, MemorySource.MAPPED, refused);
        case ErrorCodes.CUDA_ERROR_NOT_SUPPORTED ->
            unshareable("does not support " + refused.call());
        default -> refused;
      };
    }
  }

  /** Returns whether this system, the driver and the device can share memory between processes. */
  boolean isShareable() {
    return DescriptorExchange.isSupported() && (exportsDescriptors() || IpcMemory.isSupported());
  }

  private boolean exportsDescriptors() {
    return mapped != null && device.descriptors();
  }

  /**
   * Memory that other processes can open.
   *
   * @param descriptor the descriptor that they need; the receiver closes it
   * @param ticket other data that they need, at most 160 ASCII characters; empty if none
   */
  record Shareable(CudaBlock block, int descriptor, String ticket) {}

  /**
   * Allocates zeroed memory that other processes can open. It outlives this process if the device
   * can export descriptors; otherwise it is plain memory.
   */
  Shareable allocateShareable(long bytes) {
    Shareable made = roomFor(bytes, () -> exported(bytes));
    try {
      context.run(
          () -> {
            Cuda.cuMemsetD8Async(made.block().address(), (byte) 0, bytes, service);
            Cuda.cuStreamSynchronize(service);
          });
      return made;
    } catch (RuntimeException | Error failed) {
      DescriptorExchange.discard(made.descriptor());
      Closing.surviving(made.block()::free);
      throw failed;
    }
  }

  private Shareable exported(long bytes) {
    if (exportsDescriptors()) {
      MappedMemory.Exported exported = mappedMemory().export(bytes);
      return new Shareable(mappedAt(exported.address(), bytes), exported.descriptor(), "");
    }
    requirePrimary();
    IpcMemory.Exported exported = IpcMemory.export(device.handle(), bytes);
    return new Shareable(
        sharedAt(exported.address(), bytes), exported.descriptor(), exported.ticket());
  }

  /** Opens memory that another process, or this one, has exported. */
  CudaBlock importShared(int descriptor, String ticket, long bytes) {
    if (ticket.isEmpty()) {
      return roomFor(bytes, () -> mappedAt(mappedMemory().importFrom(descriptor, bytes), bytes));
    }
    requirePrimary();
    return roomFor(
        bytes, () -> sharedAt(IpcMemory.open(device.handle(), descriptor, ticket, bytes), bytes));
  }

  /**
   * Checks that kernels can use plain memory that processes share. {@link IpcMemory} allocates it
   * in the primary context, and kernels in another context cannot access it.
   */
  private void requirePrimary() {
    if (!context.isPrimary()) {
      throw unshareable(
          "is opened on a context that is not the primary one, by tidepool.cuda.context,");
    }
  }

  private CudaBlock sharedAt(long address, long bytes) {
    return new CudaBlock(this, MemorySource.SHARED, HostAccess.NONE, address, address, bytes);
  }

  private MappedMemory mappedMemory() {
    if (mapped == null) {
      throw unshareable("has no virtual memory, or does without by tidepool.cuda.vmm=none");
    }
    return mapped;
  }

  private UnsupportedOperationException unshareable(String why) {
    return new UnsupportedOperationException(
        name
            + " "
            + why
            + ", and cannot share this memory; share memory of the host, with MemoryLocation.HOST");
  }

  private CudaBlock allocate(long bytes, long alignment, MemorySource source, Placement placement) {
    long start = taken(bytes, source);
    if (start % alignment != 0) {
      // The driver aligns to 256 bytes at least; a larger block has room for a stricter alignment.
      giveBack(start, source);
      start = taken(bytes + alignment, source);
    }
    long address = (start + alignment - 1) & -alignment;
    long allocation = start;
    try {
      CudaBlock block = new CudaBlock(this, source, hostAccess(source), allocation, address, bytes);
      if (source.kind() == BlockKind.PINNED) {
        LOCKED.add(allocation, address + bytes - allocation);
      }
      if (source == MemorySource.MANAGED) {
        managed.allocated(address, bytes, placement);
      }
      return block;
    } catch (RuntimeException | Error failed) {
      Closing.surviving(() -> giveBack(allocation, source));
      throw failed;
    }
  }

  private HostAccess hostAccess(MemorySource source) {
    return switch (source) {
      case POOL, PLAIN, MAPPED, SHARED, FOREIGN -> HostAccess.NONE;
      case PINNED, WRITE_COMBINED -> HostAccess.DIRECT;
      case MANAGED -> managed.hostAccess();
    };
  }

  private long taken(long bytes, MemorySource source) {
    return switch (source) {
      case POOL -> pooled(bytes);
      case PLAIN -> Cuda.cuMemAlloc(bytes);
      case PINNED -> Cuda.cuMemHostAlloc(bytes, false);
      case WRITE_COMBINED -> Cuda.cuMemHostAlloc(bytes, true);
      case MANAGED -> Cuda.cuMemAllocManaged(bytes);
      case MAPPED, SHARED, FOREIGN ->
          throw new IllegalArgumentException("no single call gives " + source + " memory");
    };
  }

  private long pooled(long bytes) {
    long address = Cuda.cuMemAllocFromPoolAsync(bytes, pool, service);
    try {
      // From here on all streams may use the memory, not only this one.
      Cuda.cuStreamSynchronize(service);
      return address;
    } catch (RuntimeException | Error failed) {
      Closing.surviving(() -> Cuda.cuMemFreeAsync(address, service));
      throw failed;
    }
  }

  /** Returns a block over memory of other code; freeing the block does not free the memory. */
  CudaBlock adopt(long address, long bytes) {
    return new CudaBlock(this, MemorySource.FOREIGN, HostAccess.NONE, address, address, bytes);
  }

  /** Frees a block; the host can no longer access it. */
  void free(CudaBlock block) {
    if (block.source() == MemorySource.FOREIGN) {
      return;
    }
    if (block.source() == MemorySource.MANAGED) {
      managed.freed(block.byteSize());
    }
    if (block.kind() == BlockKind.PINNED) {
      LOCKED.remove(block.allocation());
    }
    if (mapped != null && block.source() == MemorySource.MAPPED) {
      mapped.free(block.allocation());
    } else if (block.source() == MemorySource.SHARED) {
      IpcMemory.free(block.allocation());
    } else {
      context.run(() -> giveBack(block.allocation(), block.source()));
    }
  }

  private void giveBack(long start, MemorySource source) {
    switch (source) {
      case POOL -> {
        Cuda.cuMemFreeAsync(start, service);
        // The driver's pool releases what it does not keep only when the host waits.
        Cuda.cuStreamSynchronize(service);
      }
      case PLAIN -> Cuda.cuMemFree(start, ObjectKind.DEVICE_MEMORY);
      case PINNED, WRITE_COMBINED -> Cuda.cuMemFreeHost(start);
      case MANAGED -> Cuda.cuMemFree(start, ObjectKind.MANAGED_MEMORY);
      case MAPPED, SHARED, FOREIGN ->
          throw new IllegalArgumentException("no single call frees " + source + " memory");
    }
  }

  /**
   * Page-locks memory of the host in place. Returns the action that unlocks it; null if the driver
   * refuses.
   */
  @Nullable Runnable lock(MemorySegment hostBytes) {
    long address = hostBytes.address();
    try {
      context.run(() -> Cuda.cuMemHostRegister(hostBytes));
    } catch (AcceleratorException refused) {
      FailureLog.debug(name + " does not lock memory of the caller", refused);
      return null;
    }
    LOCKED.add(address, hostBytes.byteSize());
    return () -> {
      LOCKED.remove(address);
      context.run(() -> Cuda.cuMemHostUnregister(address));
    };
  }

  private OutOfDeviceMemoryException outOfMemory(
      long bytes, MemorySource source, AcceleratorException refused) {
    boolean onHost = source.kind() == BlockKind.PINNED;
    long free = onHost ? HostMemory.now().freeBytes() : info().freeBytes();
    long total = onHost ? HostMemory.now().totalBytes() : device.totalMemory();
    return new OutOfDeviceMemoryException(
        name
            + " cannot allocate "
            + bytes
            + " bytes: "
            + refused.call()
            + " answered "
            + refused.codeName()
            + " ("
            + free
            + " of "
            + total
            + " bytes are free"
            + (onHost ? " on the host)" : ")"),
        bytes,
        free,
        total,
        -1);
  }

  /**
   * Allocates device memory for one command.
   *
   * @param stream the stream of the command
   */
  long takeFor(long stream, long bytes) {
    try {
      return deviceSource == MemorySource.POOL
          ? Cuda.cuMemAllocFromPoolAsync(bytes, pool, stream)
          : Cuda.cuMemAlloc(bytes);
    } catch (AcceleratorException refused) {
      throw refused.code() == ErrorCodes.CUDA_ERROR_OUT_OF_MEMORY
          ? outOfMemory(bytes, deviceSource, refused)
          : refused;
    }
  }

  /** Frees memory returned by {@link #takeFor} after the commands that the stream has by now. */
  void freeBehind(long stream, long address) {
    if (deviceSource == MemorySource.POOL) {
      Cuda.cuMemFreeAsync(address, stream);
    } else {
      Cuda.cuStreamSynchronize(stream);
      Cuda.cuMemFree(address, ObjectKind.DEVICE_MEMORY);
    }
  }

  /**
   * Lets another device access this device's memory, or not, if the memory comes from a pool or is
   * mapped. Called with no context pushed.
   */
  void share(int peer, boolean reachable) {
    if (mapped != null) {
      mapped.share(peer, reachable);
    }
    // Other code may rely on the access to a pool that libraries share.
    if (ownsPool || (deviceSource == MemorySource.POOL && reachable)) {
      context.run(() -> Cuda.cuMemPoolSetAccess(pool, peer, reachable));
    }
  }

  /** Destroys pool and stream; the context is current. */
  void close() {
    destroyPool();
    Closing.surviving(() -> Cuda.cuStreamDestroy(service));
    if (mapped != null) {
      mapped.close();
    }
  }
}
