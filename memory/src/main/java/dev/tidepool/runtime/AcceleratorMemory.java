package dev.tidepool.runtime;

import dev.tidepool.Accelerator;
import dev.tidepool.Allocation;
import dev.tidepool.BufferInfo;
import dev.tidepool.Capability;
import dev.tidepool.DiagnosticsLevel;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.TransferEngine;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.pool.Lease;
import dev.tidepool.pool.PoolStatistics;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Program;
import dev.tidepool.transfer.DeviceLink;
import dev.tidepool.transfer.TransferMeter;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The manager of one accelerator: where its buffers are born and die.
 *
 * <p><b>Ownership.</b> It owns its pools, its queues, its compiled kernels and its storages, and
 * ends them in this order: storages once their work is done, kernels, queues, pools.
 */
final class AcceleratorMemory implements UnifiedMemoryManager {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");
  private static final int COHORT = 64;

  private final RuntimeSession session;
  private final DeviceAccelerator accelerator;
  private final Device device;
  private final MemoryOptions options;
  private final Pools pools;
  private final Cohorts cohorts;
  private final Counters counters = new Counters();
  private final TransferMeter meter = new TransferMeter();
  private final Kernels kernels = new Kernels(this);
  private final Ladder ladder = new Ladder(this);
  private final TransferEngine transfers = new Transfers(this);
  private final AtomicReference<@Nullable DeviceLink> link = new AtomicReference<>();
  // Handed out and not yet completed.
  private final Map<Long, CompletableFuture<?>> futures = new ConcurrentHashMap<>();
  private final AtomicLong futureNumbers = new AtomicLong();
  private final AtomicBoolean closed = new AtomicBoolean();
  // Only the maintenance thread touches it.
  private long lastTrim = System.nanoTime();
  private final AtomicBoolean ended = new AtomicBoolean();
  private final Consumer<AcceleratorMemory> whenEnded;

  /**
   * A manager.
   *
   * @param whenEnded hears when everything is freed
   */
  AcceleratorMemory(
      RuntimeSession session,
      DeviceAccelerator accelerator,
      MemoryOptions options,
      Consumer<AcceleratorMemory> whenEnded) {
    this.session = session;
    this.accelerator = accelerator;
    this.device = accelerator.device();
    this.options = options;
    this.whenEnded = whenEnded;
    this.pools = new Pools(device, session.allocator(), session.pinned(), options);
    this.cohorts = new Cohorts(options.diagnostics() == DiagnosticsLevel.COUNTERS ? COHORT : 1);
  }

  @Override
  public Accelerator accelerator() {
    return accelerator;
  }

  DeviceAccelerator deviceAccelerator() {
    return accelerator;
  }

  Device device() {
    return device;
  }

  RuntimeSession session() {
    return session;
  }

  @Override
  public <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length) {
    return allocate(type, length, MemoryLocation.DEVICE);
  }

  @Override
  public <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length, MemoryLocation location) {
    return allocate(type, length, Allocation.at(location));
  }

  @Override
  public <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length, Allocation allocation) {
    checkOpen();
    long bytes = type.bytes(length);
    TypedBuffer<A> buffer =
        register(type, length, allocation, true, newCopies(bytes, allocation), bytes);
    if (allocation.isZeroed()) {
      try {
        buffer.zero();
      } catch (RuntimeException | Error e) {
        buffer.close();
        throw e;
      }
    }
    return buffer;
  }

  private <A> TypedBuffer<A> register(
      ElementType<A> type,
      long length,
      Allocation allocation,
      boolean writable,
      Copies copies,
      long bytes) {
    Storage storage =
        new Storage(this, type.toString(), length, allocation, site(), writable, copies, bytes);
    counters.allocated(bytes);
    Cohort.Token token = cohorts.join(storage);
    TypedBuffer<A> buffer = TypedBuffer.root(storage, token, type, length);
    if (closed.get()) {
      // The manager closed meanwhile and may have missed this storage.
      buffer.close();
      checkOpen();
    }
    return buffer;
  }

  private Copies newCopies(long bytes, Allocation allocation) {
    boolean shared = device.info().can(Capability.SHARED_MEMORY);
    MemoryLocation location = allocation.location();
    if (location == MemoryLocation.UNIFIED
        && !shared
        && !device.info().can(Capability.UNIFIED_MEMORY)) {
      throw new UnsupportedOperationException(
          accelerator.id() + " has no memory that host and device both address; use DEVICE");
    }
    if (shared) {
      Pools.Kind kind = location == MemoryLocation.PINNED ? Pools.Kind.PINNED : Pools.Kind.DEVICE;
      return Copies.shared(bytes, lease(kind, bytes, allocation));
    }
    return switch (location) {
      case DEVICE -> Copies.onDevice(bytes, lease(Pools.Kind.DEVICE, bytes, allocation));
      case UNIFIED -> Copies.shared(bytes, lease(Pools.Kind.UNIFIED, bytes, allocation));
      case HOST -> Copies.onHost(bytes, lease(Pools.Kind.HOST, bytes, allocation));
      case PINNED -> Copies.onHost(bytes, lease(Pools.Kind.PINNED, bytes, allocation));
    };
  }

  private Lease lease(Pools.Kind kind, long bytes, Allocation allocation) {
    return ladder.climb(
        bytes,
        () -> {
          boolean onDevice = kind == Pools.Kind.DEVICE || kind == Pools.Kind.UNIFIED;
          if (onDevice && bytes > largest()) {
            throw new OutOfDeviceMemoryException("too large", bytes, -1, -1, -1);
          }
          return pools.acquire(
              kind, bytes, allocation.alignment(), allocation.isPooled() && !isParanoid());
        });
  }

  /** The device's copy of a storage that was born on the host. */
  Lease deviceLease(long bytes) {
    return lease(Pools.Kind.DEVICE, bytes, Allocation.at(MemoryLocation.DEVICE));
  }

  /** The host's copy of a storage that was born on the device: page-locked while there is room. */
  Lease hostLease(long bytes) {
    return lease(Pools.Kind.STAGING, bytes, Allocation.at(MemoryLocation.PINNED));
  }

  /** A block for bytes on their way. */
  Lease stagingLease(long bytes) {
    return pools.acquire(Pools.Kind.STAGING, bytes, MemoryAllocator.SMALL_ALIGNMENT, true);
  }

  long stagingChunk() {
    return options.stagingChunk();
  }

  /** Bytes of the largest buffer on the device. */
  long largest() {
    return device.info().maximumAllocation();
  }

  @Override
  public <A> CompletableFuture<UnifiedBuffer<A>> allocateAsync(
      ElementType<A> type, long length, Allocation allocation) {
    checkOpen();
    type.bytes(length);
    CompletableFuture<UnifiedBuffer<A>> future = track(new CompletableFuture<>());
    transferThreads()
        .execute(
            () -> {
              if (future.isDone()) {
                return;
              }
              try {
                UnifiedBuffer<A> buffer = allocate(type, length, allocation);
                completions()
                    .execute(
                        () -> {
                          if (!future.complete(buffer)) {
                            buffer.close();
                          }
                        });
              } catch (RuntimeException | Error e) {
                completions().execute(() -> future.completeExceptionally(e));
              }
            });
    return future;
  }

  @Override
  public <A> UnifiedBuffer<A> copyOf(A array) {
    @SuppressWarnings("unchecked") // the type was found by the array's own class
    ElementType<A> type =
        (ElementType<A>)
            ElementType.ofArray(array.getClass())
                .orElseThrow(
                    () ->
                        new IllegalArgumentException(
                            "copyOf takes arrays of primitives, not "
                                + array.getClass().getTypeName()
                                + "; allocate a buffer of ElementType.struct(...) and copy"));
    UnifiedBuffer<A> buffer = allocate(type, type.length(array));
    try {
      buffer.copyFrom(array);
      return buffer;
    } catch (RuntimeException | Error e) {
      buffer.close();
      throw e;
    }
  }

  @Override
  public <A> UnifiedBuffer<A> wrap(ElementType<A> type, MemorySegment memory) {
    checkOpen();
    if (!memory.isNative() || memory.isReadOnly() || !memory.isAccessibleBy(OTHER_THREAD)) {
      throw new IllegalArgumentException(
          "wrap takes a writable native segment that all threads may access, such as one of"
              + " Arena.ofShared(); use copyOf or allocate for others");
    }
    return foreign(type, memory, null, true, "wrapped");
  }

  /** Some thread that is not the caller's; never started. */
  static final Thread OTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});

  private <A> UnifiedBuffer<A> foreign(
      ElementType<A> type,
      MemorySegment memory,
      @Nullable Arena arena,
      boolean writable,
      String tag) {
    if (memory.byteSize() % type.byteSize() != 0) {
      throw new IllegalArgumentException(
          memory.byteSize()
              + " bytes are no whole number of "
              + type
              + " elements of "
              + type.byteSize()
              + " bytes");
    }
    Copies copies = Copies.foreign(memory, device.adopt(memory), arena);
    return register(
        type,
        memory.byteSize() / type.byteSize(),
        Allocation.at(MemoryLocation.HOST).tag(tag),
        writable,
        copies,
        memory.byteSize());
  }

  @Override
  public <A> UnifiedBuffer<A> map(Path file, ElementType<A> type, MapMode mode) {
    checkOpen();
    Set<StandardOpenOption> how =
        mode.writes()
            ? Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE)
            : Set.of(StandardOpenOption.READ);
    Arena arena = Arena.ofShared();
    try (FileChannel channel = FileChannel.open(file, how)) {
      FileChannel.MapMode mapMode =
          mode.writes() ? FileChannel.MapMode.READ_WRITE : FileChannel.MapMode.READ_ONLY;
      MemorySegment memory = channel.map(mapMode, 0, channel.size(), arena);
      return foreign(type, memory, arena, mode.writes(), file.getFileName().toString());
    } catch (IOException e) {
      arena.close();
      throw new TransferException("cannot map " + file + ": " + e, e);
    } catch (RuntimeException | Error e) {
      arena.close();
      throw e;
    }
  }

  @Override
  public Kernel compile(KernelSource source) {
    checkOpen();
    return kernels.compile(source);
  }

  /** The program of a source for parameters; blocks while it is compiled. */
  Program program(KernelSource source, List<KernelParameter> parameters) {
    return kernels.program(source, parameters);
  }

  @Override
  public MemoryStatistics statistics() {
    long frees = counters.frees();
    long allocations = counters.allocations();
    return new MemoryStatistics(
        counters.live(),
        pooledBytes(),
        pools.sum(PoolStatistics::hits),
        pools.sum(PoolStatistics::misses),
        allocations - frees,
        counters.peak(),
        session.pinned().usedBytes(),
        allocations,
        frees,
        pools.sum(PoolStatistics::driverAllocations),
        pools.fallbacks(),
        counters.evictions(),
        counters.leaks());
  }

  long pooledBytes() {
    return pools.sum(PoolStatistics::idleBytes);
  }

  long leaks() {
    return counters.leaks();
  }

  long liveBytes() {
    return counters.live();
  }

  @Override
  public List<BufferInfo> buffers() {
    checkOpen();
    return live().stream().filter(storage -> !storage.isClosing()).map(Storage::info).toList();
  }

  List<Storage> live() {
    return cohorts.live();
  }

  @Override
  public long trimExcess() {
    checkOpen();
    return trim();
  }

  /** Gives idle blocks back; also while the manager closes. */
  long trim() {
    return pools.trim();
  }

  @Override
  public void synchronize() {
    checkOpen();
    live().forEach(storage -> storage.unfinished().forEach(Work::await));
    for (CompletableFuture<?> future : futures.values()) {
      // Failures are its owner's business.
      future.handle((_, _) -> true).join();
    }
  }

  /** Asks for work in the background. */
  CompletableFuture<Void> submit(Work work) {
    return track(OperationFuture.submit(work, completions()));
  }

  /** Lets {@link #synchronize()} wait for a future. */
  <T> CompletableFuture<T> track(CompletableFuture<T> future) {
    long number = futureNumbers.getAndIncrement();
    futures.put(number, future);
    var _ = future.whenComplete((_, _) -> futures.remove(number));
    return future;
  }

  @Override
  public TransferEngine transfers() {
    checkOpen();
    return transfers;
  }

  TransferMeter meter() {
    return meter;
  }

  Executor transferThreads() {
    return session.workers().transfers();
  }

  Executor kernelThreads() {
    return session.workers().kernels();
  }

  Executor completions() {
    return session.workers().completions();
  }

  /** The queues, opened when something first moves. */
  DeviceLink link() {
    DeviceLink open = link.get();
    if (open != null) {
      return open;
    }
    DeviceLink fresh =
        new DeviceLink(device, pools.pool(Pools.Kind.STAGING), options.stagingChunk());
    if (link.compareAndSet(null, fresh)) {
      return fresh;
    }
    fresh.close();
    return Objects.requireNonNull(link.get());
  }

  /** Whether the driver copies from another manager's device to this one's. */
  boolean reaches(AcceleratorMemory other) {
    return device.equals(other.device) || device.copiesFrom(other.device);
  }

  /** Whether work on a storage may run on the calling thread: it must not block a carrier. */
  boolean runsHere(Storage storage) {
    return !Thread.currentThread().isVirtual()
        || (storage.residency().copies().isShared() && !storage.residency().copies().isMapped());
  }

  /** Whether giving blocks back asks nothing of the device. */
  boolean freesHere(Copies copies) {
    return !Thread.currentThread().isVirtual() || (!copies.isMapped() && !options.zeroOnRelease());
  }

  boolean isParanoid() {
    return options.diagnostics() == DiagnosticsLevel.PARANOID;
  }

  /**
   * Gives the device's copy of an idle storage up, its newer bytes fetched first; whether there was
   * one to give.
   */
  boolean evict(Storage storage) {
    Residency residency = storage.residency();
    if (storage.isClosing() || !residency.isEvictable()) {
      return false;
    }
    AtomicBoolean evicted = new AtomicBoolean();
    Work work =
        Work.of(
            List.of(Use.eviction(storage)),
            transferThreads(),
            () -> {
              // A failure is nobody's who comes behind, or needs the room: both copies stay valid.
              try {
                Lease lease = residency.evictDevice();
                if (lease != null) {
                  lease.release();
                  counters.evicted();
                  evicted.set(true);
                }
              } catch (RuntimeException | InternalError e) {
                LOG.log(Level.DEBUG, storage + " could not be evicted; it stays where it is", e);
              }
            });
    return work.performIfIdle(!Thread.currentThread().isVirtual()) && evicted.get();
  }

  /** Clears what pools cannot clear by themselves: memory of the device alone. */
  void clearReleased(Copies copies) {
    if (options.zeroOnRelease() && copies.hasDevice() && !copies.isShared()) {
      Block block = copies.device();
      link().fill(block, 0, block.byteSize(), (byte) 0);
    }
  }

  /**
   * The end of a storage; called once, by its last work. Never throws.
   *
   * @param hostReusable whether what the host reaches may have another owner
   * @param deviceReusable whether the device's own memory may
   */
  void free(Storage storage, boolean hostReusable, boolean deviceReusable) {
    try {
      storage.residency().copies().free(hostReusable, deviceReusable);
    } catch (RuntimeException | Error e) {
      freeFailed(storage, e);
    }
    counters.freed(storage.byteSize());
    // Last, so that whoever waits for what is live waits for this too.
    Cohort.Place place = storage.place();
    if (place != null) {
      place.leave();
    }
    if (closed.get()) {
      endIfSettled();
    }
  }

  void freeFailed(Storage storage, Throwable failure) {
    LOG.log(Level.WARNING, "the memory of " + storage + " could not be given back", failure);
  }

  /** Closes storages that no handle is left of; answers how many there were. */
  int reclaimUnreachable() {
    cohorts.seal();
    return cohorts.drain(this::reclaim);
  }

  private void reclaim(Storage storage) {
    if (storage.reclaim()) {
      LOG.log(
          Level.WARNING,
          storage
              + " of "
              + storage.byteSize()
              + " bytes became unreachable without close()"
              + (storage.site().isEmpty()
                  ? "; set tidepool.diagnostics=sites to see where it was allocated"
                  : "; it was allocated at " + storage.site())
              + ". It was reclaimed");
      counters.leaked();
    }
  }

  /** Regular work of the session's maintenance thread. */
  void maintain(long now) {
    reclaimUnreachable();
    long interval = options.trimInterval().toNanos();
    if (interval > 0 && now - lastTrim >= interval) {
      lastTrim = now;
      pools.trimIdleSince(now - interval);
    }
  }

  MemoryOptions options() {
    return options;
  }

  private String site() {
    return options.diagnostics() == DiagnosticsLevel.COUNTERS ? "" : Sites.caller();
  }

  void checkOpen() {
    if (closed.get()) {
      throw new IllegalStateException(
          "the memory manager of " + accelerator.id() + " is closed; open another");
    }
  }

  boolean isClosed() {
    return closed.get();
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    int open = 0;
    List<Storage> live = live();
    for (Storage storage : live) {
      open += storage.close() ? 1 : 0;
    }
    if (open > 0) {
      LOG.log(
          Level.INFO,
          "the memory manager of "
              + accelerator.id()
              + " was closed with "
              + open
              + " buffers open; they were freed");
    }
    live.forEach(storage -> storage.unfinished().forEach(Work::await));
    endIfSettled();
  }

  /**
   * Frees what is left once every buffer is freed; an open mapping puts that off until it closes.
   */
  private void endIfSettled() {
    if (counters.allocations() != counters.frees() || !ended.compareAndSet(false, true)) {
      return;
    }
    Closing.quietly("kernels", kernels);
    DeviceLink opened = link.getAndSet(null);
    if (opened != null) {
      Closing.quietly("queues", opened);
    }
    Closing.quietly("pools", pools);
    whenEnded.accept(this);
  }
}
