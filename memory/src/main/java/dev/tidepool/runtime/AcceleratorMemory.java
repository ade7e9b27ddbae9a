package dev.tidepool.runtime;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorException;
import dev.tidepool.Allocation;
import dev.tidepool.ArrayPool;
import dev.tidepool.ArrayPoolStatistics;
import dev.tidepool.BufferInfo;
import dev.tidepool.Capability;
import dev.tidepool.Defragmentation;
import dev.tidepool.DiagnosticsLevel;
import dev.tidepool.ElementType;
import dev.tidepool.Fragmentation;
import dev.tidepool.GuardReport;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LeakReport;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.PeakScope;
import dev.tidepool.PoolStatistics;
import dev.tidepool.Snapshot;
import dev.tidepool.StructOfArrays;
import dev.tidepool.TransferCalibration;
import dev.tidepool.TransferEngine;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.host.SharedFolder;
import dev.tidepool.host.SharedMemory;
import dev.tidepool.pool.ArrayPools;
import dev.tidepool.pool.Lease;
import dev.tidepool.pool.PooledBlock;
import dev.tidepool.runtime.flight.EvictionEvent;
import dev.tidepool.runtime.flight.Flight;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Program;
import dev.tidepool.transfer.DeviceLink;
import dev.tidepool.transfer.TransferMeter;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The manager of one accelerator: where its buffers are born and die.
 *
 * <p><b>Ownership.</b> It owns its pools, its queues, its compiled kernels and its storages, and
 * ends them in this order: storages once their work is done, kernels, queues, pools.
 */
final class AcceleratorMemory implements UnifiedMemoryManager {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");
  private static final long MOST_IDLE_ARRAYS = 4L << 30;
  private static final int USUAL_HISTORY = 100_000;

  /** Device memory is scattered when more than one part in so many of it is bound. */
  private static final int SCATTERED = 4;

  private final RuntimeSession session;
  private final DeviceAccelerator accelerator;
  private final Device device;
  private final MemoryOptions options;
  private final @Nullable Pressure pressure;
  private final @Nullable MemoryLimit limit;
  private final Pools pools;
  private final Blocks blocks;
  private final ArrayPools arrays;
  private final Cohorts cohorts;
  private final LiveBuffers registry;
  private final @Nullable Spilling spilling;
  private final @Nullable AllocationTrace trace;
  // Whether buffers have a storage from the start.
  private final boolean wakesBuffers;
  private final Counters counters;
  private final Reports reports;
  private final Guards guards;
  private final long bornNanos = System.nanoTime();
  private final @Nullable History history;
  private final @Nullable ExhaustionDumps dumps;
  private final @Nullable AutoCloseable registration;
  private final TransferMeter meter = new TransferMeter();
  private final Calibrations calibrations = new Calibrations(this);
  // Measurements under way, which use the device beside all buffers.
  private final AtomicInteger calibrating = new AtomicInteger();
  private final Kernels kernels = new Kernels(this);
  private final TransferEngine transfers = new Transfers(this);
  private final Retries retries;
  private final AtomicReference<@Nullable DeviceLink> link = new AtomicReference<>();
  // Handed out and not yet completed.
  private final Map<Long, CompletableFuture<?>> futures = new ConcurrentHashMap<>();
  private final AtomicLong futureNumbers = new AtomicLong();
  private final AtomicBoolean defragmenting = new AtomicBoolean();
  private final AtomicBoolean closing = new AtomicBoolean();
  private volatile boolean closed;
  // Only the maintenance thread touches them.
  private long lastTrim = System.nanoTime();
  private long lastDefragmentation = System.nanoTime();
  // Closed, and no more to be done for that but by who frees the last buffer.
  private volatile boolean ending;
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
    this.retries =
        new Retries(options.transferRetries(), options.transferRetryTime().toNanos(), meter);
    this.pressure =
        options
            .pressureListener()
            .map(
                listener ->
                    new Pressure(accelerator.id(), options.watermarks(), listener, completions()))
            .orElse(null);
    this.limit =
        options.memoryLimit() == -1 ? null : new MemoryLimit(options.memoryLimit(), pressure);
    this.pools =
        new Pools(
            device,
            limit == null ? session.sharedHostPool(options) : null,
            limit,
            session.allocator(),
            session.pinned(),
            options);
    this.arrays =
        new ArrayPools(
            idleArrayBytes(options),
            options.zeroOnRelease() ? ArrayPool.Clearing.ON_RETURN : ArrayPool.Clearing.NEVER,
            options.trimInterval());
    this.registry = new LiveBuffers(this, pools);
    this.spilling =
        options.spillDirectory().map(directory -> new Spilling(directory, registry)).orElse(null);
    this.counters =
        options.diagnostics() == DiagnosticsLevel.OFF
            ? new NoCounters(registry, pools)
            : new Counters();
    this.cohorts = SitedCohorts.of(options);
    this.reports = new Reports(options.reportListener());
    this.guards = new Guards(this, reports);
    this.trace = session.trace();
    this.wakesBuffers = isParanoid() || trace != null;
    this.history = history(options, bornNanos);
    this.dumps = options.dumpDirectory().map(ExhaustionDumps::new).orElse(null);
    this.blocks = new Blocks(this, pools, counters);
    this.registration = options.jmx() ? ManagementBean.register(this) : null;
  }

  private static @Nullable History history(MemoryOptions options, long bornNanos) {
    // An entry costs more than an allocation does, so only those who asked for it pay it.
    boolean usual =
        options.diagnostics() == DiagnosticsLevel.PARANOID || options.dumpDirectory().isPresent();
    int events = options.history() == -1 && usual ? USUAL_HISTORY : options.history();
    return events > 0 ? new History(events, bornNanos) : null;
  }

  private static long idleArrayBytes(MemoryOptions options) {
    if (!options.pooling()) {
      return 0;
    }
    return options.maxPoolBytes() == -1
        ? Math.min(Runtime.getRuntime().maxMemory() / 4, MOST_IDLE_ARRAYS)
        : options.maxPoolBytes();
  }

  @Override
  public Accelerator accelerator() {
    return accelerator;
  }

  /** The accelerator's. */
  String id() {
    return device.info().id();
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
    Objects.requireNonNull(allocation, "allocation");
    long bytes = Objects.requireNonNull(type, "type").bytes(length);
    return allocate(type, length, allocation, cohorts.sampled(bytes));
  }

  private <A> UnifiedBuffer<A> allocate(
      ElementType<A> type, long length, Allocation allocation, Cohort.@Nullable Token sampled) {
    long bytes = type.bytes(length);
    PooledBlock block = blocks.forBuffer(bytes, allocation);
    // Only now: whoever makes room must not hold the token of a cohort that may have leaked.
    Cohort.Token token = sampled == null ? cohorts.join() : sampled;
    counters.allocated(bytes);
    Tenancy tenancy = Tenancy.dormant(this, type, length, allocation, token.cohort(), block);
    if (history != null) {
      history.allocated(tenancy);
    }
    TypedBuffer<A> buffer = TypedBuffer.root(tenancy, token, type);
    if (Flight.recordsAllocations()) {
      Flight.allocated(
          id(), allocation.location().name(), type.toString(), allocation.tag(), bytes);
    }
    if (closed || !allocation.isPlain() || wakesBuffers) {
      prepare(buffer, tenancy, allocation);
    }
    return buffer;
  }

  /** What the fast way of an allocation leaves out. */
  private void prepare(TypedBuffer<?> buffer, Tenancy tenancy, Allocation allocation) {
    if (wakesBuffers) {
      Storage storage = tenancy.storage();
      if (trace != null) {
        storage.record(trace);
      }
    }
    try {
      // The manager may have closed meanwhile, and missed this buffer.
      checkOpen();
      if (allocation.isZeroed()) {
        buffer.zero();
      }
    } catch (RuntimeException | Error e) {
      buffer.close();
      throw e;
    }
  }

  /** The memory of a buffer that begins to be used. */
  Copies copies(MemoryLocation location, long bytes, Lease lease) {
    boolean shared =
        device.info().can(Capability.SHARED_MEMORY) || location == MemoryLocation.UNIFIED;
    if (shared) {
      return Copies.shared(bytes, lease);
    }
    return location == MemoryLocation.DEVICE
        ? Copies.onDevice(bytes, lease)
        : Copies.onHost(bytes, lease);
  }

  Blocks blocks() {
    return blocks;
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
    Objects.requireNonNull(allocation, "allocation");
    // Here, where the stack is the user's.
    Cohort.Token sampled = cohorts.sampled(Objects.requireNonNull(type, "type").bytes(length));
    CompletableFuture<UnifiedBuffer<A>> future = track(new CompletableFuture<>());
    transferThreads()
        .execute(
            () -> {
              if (future.isDone()) {
                return;
              }
              try {
                checkOpen();
                UnifiedBuffer<A> buffer = allocate(type, length, allocation, sampled);
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
  public <R extends Record> StructOfArrays<R> allocateStructOfArrays(
      ElementType<R[]> structType, long length, Allocation allocation) {
    checkOpen();
    return Columns.allocate(this, structType, length, allocation);
  }

  @Override
  public <A> UnifiedBuffer<A> copyOf(A array) {
    Objects.requireNonNull(array, "array");
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
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(memory, "memory");
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
      @Nullable Runnable ending,
      boolean writable,
      String tag) {
    // Before the device has a block that would have to be freed again.
    long length = type.elements(memory.byteSize());
    Copies copies = Copies.foreign(memory, device.adopt(memory), ending);
    return withoutBlock(
        type, length, Allocation.at(MemoryLocation.HOST).tag(tag), copies, writable);
  }

  /** A buffer whose memory is no pool's. */
  private <A> UnifiedBuffer<A> withoutBlock(
      ElementType<A> type, long length, Allocation allocation, Copies copies, boolean writable) {
    long bytes = type.bytes(length);
    Cohort.Token sampled = cohorts.sampled(bytes);
    Cohort.Token token = sampled == null ? cohorts.join() : sampled;
    Tenancy tenancy = Tenancy.withoutBlock(this, type, length, allocation, token.cohort());
    tenancy.settle(new Storage(tenancy, copies, writable));
    counters.allocated(bytes);
    counters.adopted();
    if (history != null) {
      history.allocated(tenancy);
    }
    registry.addWithoutBlock(tenancy);
    TypedBuffer<A> buffer = TypedBuffer.root(tenancy, token, type);
    if (closed) {
      buffer.close();
      checkOpen();
    }
    return buffer;
  }

  @Override
  public <A> UnifiedBuffer<A> map(Path file, ElementType<A> type, MapMode mode) {
    checkOpen();
    Objects.requireNonNull(file, "file");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(mode, "mode");
    Arena arena = Arena.ofShared();
    try {
      MemorySegment memory = MappedFile.map(file, mode, arena);
      return foreign(type, memory, arena::close, mode.writes(), file.getFileName().toString());
    } catch (RuntimeException | Error e) {
      arena.close();
      throw e;
    }
  }

  @Override
  public <A> UnifiedBuffer<A> createShared(ElementType<A> type, long length, String name) {
    checkOpen();
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(name, "name");
    return shared(type, SharedMemory.create(sharedFolder(), type, length, name), name);
  }

  @Override
  public <A> UnifiedBuffer<A> openShared(ElementType<A> type, String name) {
    checkOpen();
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(name, "name");
    return shared(type, SharedMemory.open(sharedFolder(), type, name), name);
  }

  @Override
  public <A> UnifiedBuffer<A> createShared(
      ElementType<A> type, long length, String name, MemoryLocation location) {
    checkOpen();
    if (!sharesOnDevice(location)) {
      return createShared(type, length, name);
    }
    SharedDeviceMemory memory = SharedDeviceMemory.create(this, sharedFolder(), type, length, name);
    return shared(type, memory, name, () -> publish(memory));
  }

  /** What others find is zeros. */
  private void publish(SharedDeviceMemory memory) {
    link().fill(memory.block(), 0, memory.block().byteSize(), (byte) 0);
    memory.publish();
  }

  @Override
  public <A> UnifiedBuffer<A> openShared(
      ElementType<A> type, String name, MemoryLocation location) {
    checkOpen();
    return sharesOnDevice(location)
        ? shared(type, SharedDeviceMemory.open(device, sharedFolder(), type, name), name, () -> {})
        : openShared(type, name);
  }

  private boolean sharesOnDevice(MemoryLocation location) {
    return switch (Objects.requireNonNull(location, "location")) {
      case HOST -> false;
      case DEVICE -> !device.info().can(Capability.SHARED_MEMORY);
      case PINNED, UNIFIED ->
          throw new IllegalArgumentException(
              "memory at " + location + " is this process's alone; share HOST or DEVICE memory");
    };
  }

  private <A> UnifiedBuffer<A> shared(
      ElementType<A> type, SharedDeviceMemory memory, String name, Runnable beginning) {
    try {
      beginning.run();
      Copies copies =
          Copies.amongProcesses(type.bytes(memory.length()), memory.block(), memory::close);
      return withoutBlock(
          type, memory.length(), Allocation.at(MemoryLocation.DEVICE).tag(name), copies, true);
    } catch (RuntimeException | Error e) {
      memory.close();
      throw e;
    }
  }

  private SharedFolder sharedFolder() {
    return SharedFolder.of(options.sharedDirectory());
  }

  private <A> UnifiedBuffer<A> shared(ElementType<A> type, SharedMemory memory, String name) {
    try {
      return foreign(type, memory.segment(), memory::close, true, name);
    } catch (RuntimeException | Error e) {
      memory.close();
      throw e;
    }
  }

  @Override
  public <A> ArrayPool<A> arrays(ElementType<A> type) {
    checkOpen();
    return arrays.of(type);
  }

  @Override
  public Kernel compile(KernelSource source) {
    checkOpen();
    Objects.requireNonNull(source, "source");
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
    long freedBytes = counters.freedBytes();
    long allocatedBytes = counters.allocatedBytes();
    long live = counters.live() + arrays.sum(ArrayPoolStatistics::rentedBytes);
    long arrayHits = arrays.sum(ArrayPoolStatistics::hits);
    return new MemoryStatistics(
        live,
        pooledBytes() + arrays.sum(ArrayPoolStatistics::idleBytes),
        counters.hits() + arrayHits,
        counters.misses() + arrays.sum(ArrayPoolStatistics::rents) - arrayHits,
        counters.active(allocations - frees),
        counters.peak(live),
        session.pinned().usedBytes(),
        allocations,
        frees,
        counters.misses(),
        pools.fallbacks(),
        counters.evictions(),
        counters.leaks(),
        pools.reservedBytes(),
        pools.peakReservedBytes(),
        allocatedBytes,
        freedBytes,
        System.nanoTime() - bornNanos,
        spilling == null ? 0 : spilling.spilledBytes(),
        spilling == null ? 0 : spilling.spills(),
        spilling == null ? 0 : spilling.returns());
  }

  @Override
  public List<PoolStatistics> pools() {
    checkOpen();
    return pools.statistics();
  }

  @Override
  public Map<String, Long> bytesByTag() {
    checkOpen();
    return bytesByTagNow();
  }

  /** {@link #bytesByTag()} also while the manager closes. */
  Map<String, Long> bytesByTagNow() {
    return registry.bytesByTag(arrays.sum(ArrayPoolStatistics::rentedBytes));
  }

  @Override
  public List<GuardReport> checkGuards() {
    checkOpen();
    if (!isParanoid()) {
      throw new IllegalStateException(
          "buffers have guard zones at diagnostics=paranoid only, and these are at "
              + options.diagnostics());
    }
    return guards.inspectAll();
  }

  @Override
  public PeakScope pushPeak(String name) {
    checkOpen();
    return counters.pushPeak(Objects.requireNonNull(name, "name"));
  }

  long pooledBytes() {
    return pools.idleBytes();
  }

  long largestIdleBytes() {
    return pools.largestIdleBytes();
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
    return live().stream().filter(tenancy -> !tenancy.isClosing()).map(Tenancy::info).toList();
  }

  Collection<Tenancy> live() {
    return registry.all();
  }

  LiveBuffers registry() {
    return registry;
  }

  /** The managers of the session that share this one's device, this one first. */
  private Stream<AcceleratorMemory> onDevice() {
    return Stream.concat(
        Stream.of(this),
        session.managers().stream().filter(other -> other != this && other.device.equals(device)));
  }

  /**
   * The storages of all open buffers, of this manager alone or of all managers of the device, the
   * least recently used first.
   */
  List<Storage> idlest(boolean ownOnly) {
    record Candidate(Storage storage, long lastUse) {}
    // Others use them meanwhile, and an order that changes cannot be sorted by.
    return roused(ownOnly)
        .map(storage -> new Candidate(storage, storage.lastUse()))
        .sorted((a, b) -> Long.signum(a.lastUse() - b.lastUse()))
        .map(Candidate::storage)
        .toList();
  }

  private Stream<Storage> roused(boolean ownOnly) {
    return (ownOnly ? Stream.of(this) : onDevice())
        .flatMap(manager -> manager.live().stream())
        .map(Tenancy::rouse)
        .filter(Objects::nonNull);
  }

  /** Whether a block is being taken or given back right now, in any manager of the device. */
  boolean anyBlockOnItsWay() {
    return onDevice().anyMatch(manager -> manager.pools.anyOnItsWay());
  }

  /** Gives idle blocks back, of all managers of the device. */
  long trimDevice() {
    return onDevice().mapToLong(AcceleratorMemory::trim).sum();
  }

  /** The storages of the buffers that were used. */
  List<Storage> awake() {
    return live().stream().map(Tenancy::awake).filter(Objects::nonNull).toList();
  }

  /** What this manager may hold; null for as much as there is. */
  @Nullable MemoryLimit limit() {
    return limit;
  }

  @Override
  public void limit(long bytes) {
    checkOpen();
    if (bytes < 1) {
      throw new IllegalArgumentException("memory-limit is " + bytes + "; it must be 1 or more");
    }
    MemoryLimit current = limit;
    if (current == null) {
      throw new IllegalStateException(
          "the memory manager of "
              + accelerator.id()
              + " was made without a limit and shares a pool with others; set memory-limit when it"
              + " is made");
    }
    if (!current.change(bytes)) {
      trimExcess();
      if (!current.change(bytes)) {
        throw new IllegalArgumentException(
            "a memory-limit of "
                + bytes
                + " bytes is below the "
                + current.usedBytes()
                + " bytes in use; close buffers first. The limit stays "
                + current.limitBytes()
                + " bytes");
      }
    }
  }

  @Override
  public Snapshot snapshot() {
    checkOpen();
    return snapshot("request");
  }

  private Snapshot snapshot(String reason) {
    Duration uptime = Duration.ofNanos(System.nanoTime() - bornNanos);
    return new Survey(this)
        .take(uptime, reason, pools.all().toList(), registry.withoutBlock(), history);
  }

  @Override
  public long trimExcess() {
    checkOpen();
    return trim() + arrays.trim();
  }

  @Override
  public Fragmentation fragmentation() {
    checkOpen();
    MemoryInfo info = device.memory();
    long idle = pools.idleDeviceBytes();
    long bound = Math.min(idle, pools.boundDeviceBytes());
    long free = info.freeBytes() + idle;
    return new Fragmentation(free, bound, Math.min(free - bound, largest()), info.freeIsEstimate());
  }

  @Override
  public Defragmentation defragment() {
    checkOpen();
    return Defragmenter.run(pools);
  }

  /** Moves small buffers of this manager's pools together; how many bytes went back. */
  long defragmentOwn() {
    return Defragmenter.run(pools).returnedBytes();
  }

  /** Moves small buffers together, of all managers of the device; how many bytes went back. */
  long defragmentDevice() {
    return onDevice().mapToLong(AcceleratorMemory::defragmentOwn).sum();
  }

  /** Defragments when a good part of what is held is bound; one pass at a time. */
  private void defragmentIfScattered() {
    if (pools.boundDeviceBytes() > pools.reservedDeviceBytes() / SCATTERED
        && defragmenting.compareAndSet(false, true)) {
      transferThreads()
          .execute(
              () -> {
                try {
                  defragmentOwn();
                } finally {
                  defragmenting.set(false);
                }
              });
    }
  }

  /** Gives idle blocks back; also while the manager closes. */
  long trim() {
    return pools.trim();
  }

  @Override
  public void synchronize() {
    checkOpen();
    awake().forEach(storage -> storage.unfinished().forEach(Work::await));
    awaitFutures();
  }

  private void awaitFutures() {
    for (CompletableFuture<?> future : futures.values()) {
      // Failures are its owner's business.
      future.handle((_, _) -> true).join();
    }
  }

  /** Asks for work in the background. */
  CompletableFuture<Void> submit(Work work) {
    return track(OperationFuture.submit(work, completions()));
  }

  /** Asks for work, which does not start before it is told to {@link Work#begin}. */
  CompletableFuture<Void> reserve(Work work) {
    return track(OperationFuture.reserve(work, completions()));
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
    return traffic();
  }

  Traffic traffic() {
    return session.workers().transfers();
  }

  /** When a transfer that failed is tried again. */
  Retries retries() {
    return retries;
  }

  Executor kernelThreads() {
    return session.workers().kernels();
  }

  Executor completions() {
    return session.workers().completions();
  }

  /** Measures what the ways of this accelerator cost, whether that is known or not. */
  TransferCalibration calibrate() {
    calibrating.incrementAndGet();
    try {
      checkOpen();
      return calibrations.measure();
    } finally {
      calibrating.decrementAndGet();
      if (ending) {
        endIfSettled();
      }
    }
  }

  /** What the ways of this accelerator cost; null before that is measured. */
  @Nullable TransferCalibration calibration() {
    DeviceLink open = link.get();
    return open == null ? null : open.calibration();
  }

  /** The queues, opened when something first moves. */
  DeviceLink link() {
    DeviceLink open = link.get();
    if (open != null) {
      return open;
    }
    DeviceLink fresh =
        new DeviceLink(
            device, blocks::forStaging, options.stagingChunk(), calibrations::whenWorthwhile);
    if (link.compareAndSet(null, fresh)) {
      return fresh;
    }
    fresh.close();
    return Objects.requireNonNull(link.get());
  }

  /** Whether the driver copies from another manager's device to this one's. */
  boolean reaches(AcceleratorMemory other) {
    return session.peers().carries(other.device, device);
  }

  /** Whether work on a storage may run on the calling thread: it must not block a carrier. */
  boolean runsHere(Storage storage) {
    return !Thread.currentThread().isVirtual()
        || (storage.residency().copies().isShared() && !storage.residency().copies().isMapped());
  }

  /** Whether giving blocks back asks nothing of the device. */
  boolean freesHere(Copies copies) {
    return !Thread.currentThread().isVirtual() || (!copies.isMapped() && !overwritesReleased());
  }

  boolean isParanoid() {
    return options.diagnostics() == DiagnosticsLevel.PARANOID;
  }

  /**
   * Gives the device's copy of an idle storage up, its newer bytes fetched first; whether there was
   * one to give.
   */
  boolean evict(Storage storage) {
    if (!storage.residency().isEvictable()) {
      return false;
    }
    AtomicBoolean evicted = new AtomicBoolean();
    return eviction(storage, () -> evicted.set(true))
            .performIfIdle(!Thread.currentThread().isVirtual())
        && evicted.get();
  }

  private Work eviction(Storage storage, Runnable evicted) {
    return Work.makingRoom(
        List.of(storage),
        Workers.evictions(),
        () -> {
          // A failure is nobody's who comes behind, or needs the room: both copies stay valid.
          try {
            EvictionEvent event = Flight.eviction();
            Lease lease = storage.residency().evictDevice();
            if (lease != null) {
              lease.release();
              if (event != null) {
                event.evicted(id(), storage.tenancy().tag(), storage.byteSize());
              }
              counters.evicted();
              evicted.run();
            }
          } catch (RuntimeException | InternalError e) {
            LOG.log(Level.DEBUG, storage + " could not be evicted; it stays where it is", e);
          }
        });
  }

  /** Asks for a storage's device copy as soon as what is under way on it has ended. */
  Work requestEviction(Storage storage) {
    return requested(eviction(storage, () -> {}));
  }

  /** Asks for a storage's memory, its bytes taken to the spill file, as soon as it is idle. */
  Work requestSpill(Storage storage, Spilling spilling) {
    return requested(
        spilling.work(
            storage,
            Workers.evictions(),
            () -> {},
            refused -> LOG.log(Level.DEBUG, storage + " could not be spilled", refused)));
  }

  private static Work requested(Work work) {
    if (!work.requestIfOpen()) {
      work.cancel();
    }
    return work;
  }

  /**
   * Held by a kernel while memory is found for its arguments. One kernel after another: two that
   * had a part of what they need would wait for each other.
   */
  ReentrantLock placing() {
    return session.placing(device);
  }

  /** What takes idle buffers to a file; null without a spill directory. */
  @Nullable Spilling spilling() {
    return spilling;
  }

  /**
   * Takes an idle storage to the spill file, if there is one; whether that made room.
   *
   * @throws dev.tidepool.TransferException if the file takes no more
   */
  boolean spill(Storage storage) {
    return spilling != null && spilling.spill(storage, Workers.evictions());
  }

  /**
   * Overwrites what pools and guarded blocks cannot by themselves: memory of the device alone, and
   * what the host may not touch without asking.
   */
  void overwriteReleased(Copies copies) {
    Block released = beyondPools(copies);
    if (released != null) {
      overwrite(released);
    }
  }

  /** The block of some copies that must be overwritten here once it is released; null if none. */
  @Nullable Block beyondPools(Copies copies) {
    boolean beyond = !copies.isShared() || (copies.isMapped() && copies.isHostOwned());
    boolean own = beyond && !copies.isAmongProcesses();
    return overwritesReleased() && copies.hasDevice() && own ? copies.device() : null;
  }

  /** Overwrites a block that nobody has any more; whether that worked. */
  boolean overwroteQuietly(Block block) {
    try {
      overwrite(block);
      return true;
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "memory that was given up could not be overwritten", e);
      return false;
    }
  }

  /** Looks at the guard zones of a storage whose blocks are about to go, where it has any. */
  void inspectGuards(Storage storage) {
    if (isParanoid()) {
      guards.inspect(storage);
    }
  }

  /** A buffer lies elsewhere now, and will leave where it was. */
  void relocated() {
    registry.relocated();
  }

  /** The same for a block of the device whose contents have moved; whether it is clean now. */
  boolean overwroteAbandoned(Block block) {
    return !overwritesReleased() || block.segment() != null || overwroteQuietly(block);
  }

  private void overwrite(Block block) {
    byte value = options.zeroOnRelease() ? 0 : GuardedBlock.FREED;
    link().fill(block, 0, block.byteSize(), value);
  }

  private boolean overwritesReleased() {
    return options.zeroOnRelease() || isParanoid();
  }

  /**
   * The end of a storage; called once, by its last work. Never throws.
   *
   * @param hostReusable whether what the host reaches may have another owner
   * @param deviceReusable whether the device's own memory may
   */
  void free(Storage storage, boolean hostReusable, boolean deviceReusable) {
    inspectGuards(storage);
    // Before the blocks go, or their next owner would seem to be there beside this one.
    counters.freed(storage.byteSize());
    if (history != null) {
      history.freed(storage.tenancy());
    }
    try {
      storage.residency().copies().free(hostReusable, deviceReusable);
    } catch (RuntimeException | Error e) {
      freeFailed(storage, e);
    }
    registry.removeWithoutBlock(storage.tenancy());
    storage.tenancy().forgetRoused();
    if (ending) {
      endIfSettled();
    }
  }

  /** The end of a buffer that was never used. Never throws. */
  void freeDormant(Tenancy tenancy, PooledBlock block) {
    counters.freed(tenancy.byteSize());
    if (history != null) {
      history.freed(tenancy);
    }
    block.giveBack();
    if (ending) {
      endIfSettled();
    }
  }

  void freeFailed(Storage storage, Throwable failure) {
    LOG.log(Level.WARNING, "the memory of " + storage + " could not be given back", failure);
  }

  /** Closes buffers that no handle is left of. */
  void reclaimUnreachable() {
    cohorts.seal();
    Set<Cohort> gone = cohorts.drain();
    if (gone.isEmpty()) {
      return;
    }
    LeakCensus leaks = new LeakCensus(this, LeakReport.Cause.UNREACHABLE);
    for (Tenancy tenancy : live()) {
      if (gone.contains(tenancy.cohort()) && tenancy.reclaim()) {
        counters.leaked();
        leaks.add(tenancy);
        Flight.leaked(
            id(),
            tenancy.type().toString(),
            tenancy.tag(),
            tenancy.byteSize(),
            tenancy.site(),
            tenancy.ageNanos());
      }
    }
    leaks.log(reports, Level.WARNING);
    leaks.reports().forEach(report -> completions().execute(() -> reports.tell(report)));
  }

  /** Tells those who record it that an allocation failed for good. Never throws. */
  void exhausted(OutOfDeviceMemoryException failure) {
    Flight.exhausted(
        id(),
        failure.requestedBytes(),
        failure.freeBytes(),
        failure.pooledBytes(),
        counters.live(),
        String.valueOf(failure.getMessage()));
    if (dumps != null && failure.requestedBytes() <= largest()) {
      dumps.write(() -> snapshot(String.valueOf(failure.getMessage())));
    }
  }

  /**
   * Regular work of the session's maintenance thread.
   *
   * @param hostIsShort whether the host has little memory left
   */
  void maintain(long now, boolean hostIsShort) {
    reclaimUnreachable();
    cohorts.tick();
    pools.drain();
    if (hostIsShort) {
      pools.trim(true);
    }
    if (Shortage.on(device)) {
      pools.trim(false);
    }
    if (pressure != null) {
      tell(pressure);
    }
    long interval = options.trimInterval().toNanos();
    if (interval > 0 && now - lastTrim >= interval) {
      lastTrim = now;
      pools.trimIdleSince(now - interval);
      arrays.maintain();
    }
    long defragments = options.defragmentInterval().toNanos();
    if (defragments > 0 && !closed && now - lastDefragmentation >= defragments) {
      lastDefragmentation = now;
      defragmentIfScattered();
    }
    if (ending) {
      endIfSettled();
    }
  }

  private void tell(Pressure pressure) {
    MemoryInfo info;
    try {
      info = device.memory();
    } catch (AcceleratorException e) {
      return; // A device that does not answer any more has no memory.
    }
    pressure.ofDevice(info);
    if (limit == null) {
      pressure.ofManager(pools.reservedBytes(), info.totalBytes());
    }
  }

  MemoryOptions options() {
    return options;
  }

  void checkOpen() {
    if (closed) {
      throw new IllegalStateException(
          "the memory manager of " + accelerator.id() + " is closed; open another");
    }
  }

  boolean isClosed() {
    return closed;
  }

  @Override
  public void close() {
    if (!closing.compareAndSet(false, true)) {
      return;
    }
    closed = true;
    if (registration != null) {
      Closing.quietly("the management bean", registration);
    }
    Closing.quietly("array pools", arrays);
    LeakCensus open = closeBuffers();
    awaitFutures();
    if (open.buffers() > 0) {
      LOG.log(
          Level.INFO,
          "the memory manager of "
              + accelerator.id()
              + " was closed with "
              + open.buffers()
              + " buffers open; they were freed");
      open.log(reports, Level.INFO);
      open.reports().forEach(reports::tell);
    }
  }

  /** Closes what is live until the manager has ended or only mappings are left; what was open. */
  @SuppressWarnings("ThreadPriorityCheck") // a virtual thread must let others have its carrier
  private LeakCensus closeBuffers() {
    LeakCensus open = new LeakCensus(this, LeakReport.Cause.OPEN_AT_CLOSE);
    pools.awaitTenants();
    do {
      for (Tenancy tenancy : live()) {
        if (tenancy.close()) {
          open.add(tenancy);
        }
      }
      for (Storage storage : awake()) {
        storage.unfinished().forEach(Work::await);
      }
      // Who closes, allocates or trims on another thread right now is done in a moment; on a
      // virtual thread perhaps only when this one makes room.
      Thread.yield();
      endIfSettled();
    } while (!ended.get() && !registry.awaitMappings());
    ending = true;
    // The last mapping may have been closed meanwhile.
    endIfSettled();
    return open;
  }

  /**
   * Frees what is left once every buffer is freed; an open mapping puts that off until it closes,
   * and a block that is on its way just now until the maintenance thread looks again.
   */
  private void endIfSettled() {
    if (calibrating.get() > 0 || !registry.isEmpty() || !ended.compareAndSet(false, true)) {
      return;
    }
    Closing.quietly("kernels", kernels);
    DeviceLink opened = link.getAndSet(null);
    if (opened != null) {
      Closing.quietly("queues", opened);
    }
    Closing.quietly("pools", pools);
    if (spilling != null) {
      Closing.quietly("the spill file", spilling);
    }
    whenEnded.accept(this);
  }
}
