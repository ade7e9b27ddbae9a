package dev.tidepool.runtime;

import dev.tidepool.Accelerator;
import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.StructOfArrays;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.diagnostics.Defragmentation;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.diagnostics.Fragmentation;
import dev.tidepool.diagnostics.GuardReport;
import dev.tidepool.diagnostics.LeakReport;
import dev.tidepool.diagnostics.PeakScope;
import dev.tidepool.diagnostics.Snapshot;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.TransferMeter;
import dev.tidepool.pool.ArrayPools;
import dev.tidepool.pool.IdlePiece;
import dev.tidepool.pooling.ArrayPool;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.spi.Device;
import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferEngine;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The manager of one accelerator: the door through which users come, and where what works for them
 * is put together. How buffers are born is in {@link Allocations} and {@link ForeignBuffers}, how
 * room is made in {@link Room}, what is counted in {@link Accounts}, how all ends in {@link
 * Ending}.
 *
 * <p><b>Ownership.</b> It owns its pools, its queues, its compiled kernels and its storages, and
 * ends them in this order: storages once their work is done, kernels, queues, pools.
 */
final class AcceleratorMemory implements UnifiedMemoryManager {
  private final RuntimeSession session;
  private final DeviceAccelerator accelerator;
  private final Device device;
  private final MemoryOptions options;
  private final @Nullable MemoryLimit limit;
  private final Pools pools;
  private final ArrayPools arrays;
  private final LiveBuffers registry;
  private final @Nullable Spilling spilling;
  private final Counters counters;
  private final Cohorts cohorts;
  private final Accounts accounts;
  private final Guards guards;
  private final LostResults lostResults;
  private final Erasure erasure;
  private final Room room;
  private final Blocks blocks;
  private final Allocations allocations;
  private final ForeignBuffers foreign;
  private final Leaks leaks;
  private final Upkeep upkeep;
  private final Ending ending;
  private final Releases releases;
  private final Handovers handovers = new Handovers();
  private final Headway headway;
  private final @Nullable AutoCloseable registration;
  private final TransferMeter meter = new TransferMeter();
  private final Calibrations calibrations = new Calibrations(this);
  private final Kernels kernels = new Kernels(this);
  private final TransferEngine transfers = new Transfers(this);
  private final Retries retries;
  private final AtomicReference<@Nullable DeviceLink> link = new AtomicReference<>();
  // Of the link; set by the operation that opened it.
  private volatile Runnable closingQueues = () -> {};
  private final OpenFutures futures = new OpenFutures();
  private final Once closing = new Once();
  private volatile boolean closed;
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
    this.headway = session.headway(device);
    this.retries =
        new Retries(options.transferRetries(), options.transferRetryTime().toNanos(), meter);
    Pressure pressure = Pressure.of(options, id(), completions());
    this.limit =
        options.memoryLimit() == -1 ? null : new MemoryLimit(options.memoryLimit(), pressure);
    this.pools =
        new Pools(
            device,
            limit == null ? session.sharedHostPool(options) : null,
            limit,
            session.allocator(),
            session.resources(),
            session.pinnedRoom(),
            options);
    this.arrays = new ArrayPools(options);
    this.registry = new LiveBuffers(this, pools);
    this.counters = new Counters();
    this.accounts = new Accounts(this, pools, arrays, registry, counters);
    // A file, which would stay open if anything of the above refused its options.
    this.spilling =
        options.spillDirectory().map(directory -> new Spilling(directory, registry)).orElse(null);
    this.cohorts = Cohorts.of(this, counters);
    Reports reports = new Reports(options.reportListener());
    this.guards = new Guards(this, reports);
    this.lostResults = new LostResults(this, counters, reports);
    this.erasure = new Erasure(this);
    this.room = new Room(this, pools, counters, spilling);
    this.blocks = new Blocks(this, pools, counters);
    this.foreign = new ForeignBuffers(this, registry, cohorts, accounts, counters);
    this.leaks = new Leaks(this, cohorts, counters, reports);
    this.upkeep = new Upkeep(this, pools, arrays, cohorts, pressure);
    this.ending = new Ending(this, registry, pools, this::end);
    this.releases = new Releases(this, registry, accounts, counters, guards, ending);
    this.allocations = new Allocations(this, blocks, cohorts, accounts, counters, releases);
    this.registration = options.jmx() ? ManagementBean.register(this) : null;
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

  MemoryOptions options() {
    return options;
  }

  @Override
  public <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length, Allocation allocation) {
    checkOpen();
    return allocations.allocate(type, length, allocation);
  }

  @Override
  public <A> CompletableFuture<UnifiedBuffer<A>> allocateAsync(
      ElementType<A> type, long length, Allocation allocation) {
    checkOpen();
    return allocations.allocateAsync(type, length, allocation);
  }

  @Override
  public <R extends Record> StructOfArrays<R> allocateStructOfArrays(
      ElementType<R[]> structType, long length, Allocation allocation) {
    checkOpen();
    return Columns.allocate(this, structType, length, allocation);
  }

  @Override
  public <A> UnifiedBuffer<A> copyOf(A array) {
    return allocations.copyOf(Objects.requireNonNull(array, "array"));
  }

  @Override
  public <A> UnifiedBuffer<A> wrap(ElementType<A> type, MemorySegment memory) {
    return ending.during(() -> foreign.wrap(type, memory));
  }

  @Override
  public <A> UnifiedBuffer<A> wrap(
      ElementType<A> type, MemorySegment memory, MemoryLocation location) {
    return ending.during(
        () ->
            switch (Objects.requireNonNull(location, "location")) {
              case HOST -> foreign.wrap(type, memory);
              case PINNED -> foreign.wrapLocked(type, memory, pools::lock);
              case DEVICE, UNIFIED ->
                  throw new IllegalArgumentException(
                      "memory of the caller is HOST or PINNED, and cannot be at " + location);
            });
  }

  @Override
  public <A> UnifiedBuffer<A> map(Path file, ElementType<A> type, MapMode mode) {
    return ending.during(() -> foreign.map(file, type, mode));
  }

  @Override
  public <A> UnifiedBuffer<A> createShared(
      ElementType<A> type, long length, String name, MemoryLocation location) {
    return ending.during(() -> foreign.createShared(type, length, name, location));
  }

  @Override
  public <A> UnifiedBuffer<A> openShared(
      ElementType<A> type, String name, MemoryLocation location) {
    return ending.during(() -> foreign.openShared(type, name, location));
  }

  @Override
  public <A> ArrayPool<A> arrays(ElementType<A> type) {
    checkOpen();
    return arrays.of(type);
  }

  @Override
  public Kernel compile(KernelSource source) {
    Objects.requireNonNull(source, "source");
    return ending.during(() -> kernels.compile(source));
  }

  /** The programs of this manager. */
  Kernels kernels() {
    return kernels;
  }

  /** What the operations of this manager begin and finish with, and how it ends. */
  Ending ending() {
    return ending;
  }

  @Override
  public MemoryStatistics statistics() {
    return accounts.statistics();
  }

  @Override
  public List<PoolStatistics> pools() {
    checkOpen();
    return pools.statistics();
  }

  @Override
  public Map<String, Long> bytesByTag() {
    checkOpen();
    return accounts.bytesByTag();
  }

  @Override
  public List<GuardReport> checkGuards() {
    checkOpen();
    if (!isParanoid()) {
      throw new IllegalStateException(
          "buffers have guard zones at diagnostics=paranoid only, and these are at "
              + options.diagnostics());
    }
    return ending.during(guards::inspectAll);
  }

  @Override
  public PeakScope pushPeak(String name) {
    checkOpen();
    return counters.pushPeak(Objects.requireNonNull(name, "name"));
  }

  @Override
  public Snapshot snapshot() {
    return ending.during(() -> accounts.snapshot("request"));
  }

  /** What is known of this manager's buffers, also while it closes. */
  Accounts accounts() {
    return accounts;
  }

  long leaks() {
    return counters.leaks();
  }

  @Override
  public List<BufferInfo> buffers() {
    checkOpen();
    return live().stream().filter(tenancy -> !tenancy.isClosing()).map(Tenancy::info).toList();
  }

  /** What lies idle of page-locked memory. */
  Stream<IdlePiece> idlePinned() {
    return pools.idlePinned();
  }

  Collection<Tenancy> live() {
    return registry.all();
  }

  LiveBuffers registry() {
    return registry;
  }

  /** The storages of the buffers that were used. */
  List<Storage> awake() {
    return live().stream().map(Tenancy::awake).filter(Objects::nonNull).toList();
  }

  /** A buffer lies elsewhere now, and will leave where it was. */
  void relocated(Tenancy tenancy) {
    registry.relocated(tenancy);
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
    if (limit == null) {
      throw new IllegalStateException(
          "the memory manager of "
              + accelerator.id()
              + " was made without a limit and shares a pool with others; set memory-limit when it"
              + " is made");
    }
    limit.set(bytes, this::trimExcess);
  }

  /** How room is made when memory is short. */
  Room room() {
    return room;
  }

  @Override
  public long trimExcess() {
    return ending.during(() -> room.trim() + arrays.trim());
  }

  @Override
  public Fragmentation fragmentation() {
    return ending.during(room::fragmentation);
  }

  @Override
  public Defragmentation defragment() {
    return ending.during(room::defragment);
  }

  /** What takes idle buffers to a file; null without a spill directory. */
  @Nullable Spilling spilling() {
    return spilling;
  }

  /** Whose turn it is to find memory for work over several buffers; see {@link Placing}. */
  Placing.Turn placing() {
    return session.placing(device);
  }

  /** What tells those who wait for memory of the device whether that helps. */
  Headway headway() {
    return headway;
  }

  @Override
  public void synchronize() {
    checkOpen();
    KernelBody.checkMayAwaitAll(this, "synchronize()");
    awaitWork();
    futures.await();
    writeBack();
  }

  /**
   * Brings what the device has newer back to memory that outlives its buffer, and waits for what is
   * closed meanwhile.
   */
  private void writeBack() {
    RuntimeException failure = null;
    for (Storage storage : awake()) {
      try {
        if (storage.isOutlived() && storage.isOpen()) {
          storage.writeBackIfOpen();
        }
      } catch (RuntimeException e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    awaitWork();
    if (failure != null) {
      throw failure;
    }
  }

  /** Waits for what is under way on buffers. */
  void awaitWork() {
    awake().forEach(storage -> storage.unfinished().forEach(Work::await));
  }

  /** Asks for work in the background. */
  CompletableFuture<Void> submit(Work work) {
    return submit(work, () -> {});
  }

  /**
   * The same.
   *
   * @param ended is run when the work has ended, by the thread that ends it
   */
  CompletableFuture<Void> submit(Work work, Runnable ended) {
    return track(OperationFuture.submit(work, completions(), ended));
  }

  /** Asks for work, which does not start before it is told to {@link Work#begin}. */
  CompletableFuture<Void> reserve(Work work) {
    return track(OperationFuture.reserve(work, completions(), () -> {}));
  }

  /** Lets {@link #synchronize()} wait for a future. */
  <T> CompletableFuture<T> track(CompletableFuture<T> future) {
    return futures.track(future);
  }

  @Override
  public TransferEngine transfers() {
    checkOpen();
    return transfers;
  }

  /** What the session has opened of drivers and the system. */
  SessionResources resources() {
    return session.resources();
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
    return ending.during(calibrations::measure);
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
      closingQueues = resources().queues(fresh.queues());
      return fresh;
    }
    fresh.close();
    return Objects.requireNonNull(link.get());
  }

  /** Whether the driver copies from another manager's device to this one's. */
  boolean reaches(AcceleratorMemory other) {
    return session.peers().carries(other.device, device);
  }

  long stagingChunk() {
    return options.stagingChunk();
  }

  /** Bytes of the largest buffer in the device's own memory. */
  long largest() {
    return device.info().maximumAllocation();
  }

  Blocks blocks() {
    return blocks;
  }

  /** Whether work on a storage may run on the calling thread: it must not block a carrier. */
  boolean runsHere(Storage storage) {
    return !Thread.currentThread().isVirtual()
        || (storage.residency().copies().isShared() && !storage.isExclusive());
  }

  /** What overwrites released memory. */
  Erasure erasure() {
    return erasure;
  }

  /** Where results that could not be brought back are told of. */
  LostResults lostResults() {
    return lostResults;
  }

  /** What gives the memory of buffers back. */
  Releases releases() {
    return releases;
  }

  /** The blocks that are on offer before their last use has ended. */
  Handovers handovers() {
    return handovers;
  }

  boolean isParanoid() {
    return options.diagnostics() == DiagnosticsLevel.PARANOID;
  }

  /** Closes buffers that no handle is left of. */
  void reclaimUnreachable() {
    leaks.reclaim();
  }

  /**
   * Regular work of the session's maintenance thread.
   *
   * @param hostIsShort whether the host has little memory left
   */
  void maintain(long now, boolean hostIsShort) {
    ending.beforeEnd(() -> upkeep.run(now, hostIsShort));
  }

  void checkOpen() {
    if (closed) {
      throw closedException();
    }
  }

  /** What is thrown to those that use a closed manager. */
  IllegalStateException closedException() {
    return new IllegalStateException(
        "the memory manager of " + accelerator.id() + " is closed; open another");
  }

  boolean isClosed() {
    return closed;
  }

  /** Closes; a thread that comes while another closes waits for it. */
  @Override
  public void close() {
    KernelBody.checkMayAwaitAll(this, "close()");
    Progress.checkMayClose(session);
    closeAndReport().run();
  }

  /**
   * Closes as {@link #close} does, but does not report yet what was open.
   *
   * @return what reports that, to the user's listener among others; threads that wait for this to
   *     close do not wait for it
   */
  Runnable closeAndReport() {
    LeakCensus open = new LeakCensus(this, LeakReport.Cause.OPEN_AT_CLOSE);
    closing.run(
        () -> {
          closed = true;
          ending.refuse();
          if (registration != null) {
            Closing.quietly("the management bean", registration);
          }
          Closing.quietly("array pools", arrays);
          ending.closeBuffers(open);
          futures.await();
        });
    return () -> leaks.wereOpen(open);
  }

  /** What is left when every buffer is freed. */
  private void end() {
    // Who keeps a measurement would keep this otherwise.
    Closing.quietly("cohorts", cohorts::seal);
    Closing.quietly("kernels", kernels);
    link.set(null);
    Closing.quietly("queues", closingQueues::run);
    Closing.quietly("pools", pools);
    // Of a buffer that was allocated while all ended, and closes itself.
    pools.awaitReturned();
    if (spilling != null) {
      Closing.quietly("the spill file", spilling);
    }
    whenEnded.accept(this);
  }

  @Override
  public String toString() {
    return "memory of " + accelerator;
  }
}
