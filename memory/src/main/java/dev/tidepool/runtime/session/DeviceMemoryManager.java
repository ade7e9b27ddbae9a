package dev.tidepool.runtime.session;

import dev.tidepool.Accelerator;
import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeUse;
import dev.tidepool.Reservation;
import dev.tidepool.StructOfArrays;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.BufferInfo;
import dev.tidepool.diagnostics.Defragmentation;
import dev.tidepool.diagnostics.Fragmentation;
import dev.tidepool.diagnostics.GuardReport;
import dev.tidepool.diagnostics.LeakReport;
import dev.tidepool.diagnostics.PeakScope;
import dev.tidepool.diagnostics.Snapshot;
import dev.tidepool.diagnostics.Suspension;
import dev.tidepool.diagnostics.UnclosedReservationReport;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.pool.block.ReclaimHandle;
import dev.tidepool.pool.object.ArrayPools;
import dev.tidepool.pooling.ArrayPool;
import dev.tidepool.pooling.PoolStatistics;
import dev.tidepool.runtime.buffer.BufferAllocator;
import dev.tidepool.runtime.buffer.ExternalBuffers;
import dev.tidepool.runtime.buffer.SoaBuffers;
import dev.tidepool.runtime.context.DeviceContext;
import dev.tidepool.runtime.context.ManagerState;
import dev.tidepool.runtime.kernel.ProgramCache;
import dev.tidepool.runtime.lending.Lender;
import dev.tidepool.runtime.metering.LeakDetector;
import dev.tidepool.runtime.reclaim.BlockAllocator;
import dev.tidepool.runtime.reclaim.OutOfMemoryMessages;
import dev.tidepool.runtime.reclaim.OutOfMemoryRecovery;
import dev.tidepool.runtime.reclaim.Reclaimer;
import dev.tidepool.runtime.reclaim.Reservations;
import dev.tidepool.runtime.reclaim.Suspender;
import dev.tidepool.runtime.reclaim.UnreachableBuffers;
import dev.tidepool.runtime.report.LeakReclaimer;
import dev.tidepool.runtime.report.LeakSummary;
import dev.tidepool.runtime.report.ManagementBean;
import dev.tidepool.runtime.report.ManagerReports;
import dev.tidepool.runtime.report.OutOfMemoryDumps;
import dev.tidepool.runtime.storage.BufferCore;
import dev.tidepool.runtime.storage.GuardInspection;
import dev.tidepool.runtime.storage.SpillFile;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.MemoryLimit;
import dev.tidepool.runtime.supply.MemoryPools;
import dev.tidepool.runtime.supply.OnDemandLink;
import dev.tidepool.runtime.supply.PressureMonitor;
import dev.tidepool.runtime.supply.ReservationLedger;
import dev.tidepool.runtime.threads.BackgroundWork;
import dev.tidepool.runtime.threads.Once;
import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.runtime.transfers.DefaultTransferEngine;
import dev.tidepool.runtime.transfers.DeviceAccelerator;
import dev.tidepool.runtime.transfers.DeviceCalibration;
import dev.tidepool.runtime.transfers.ProgressNotifier;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.ManagerObserver;
import dev.tidepool.transfer.TransferEngine;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The manager of one accelerator. It is the entry point for users and creates the parts. {@link
 * BufferAllocator} and {@link ExternalBuffers} allocate buffers, {@link Reclaimer} frees memory,
 * {@link ManagerReports} counts, and {@link ManagerShutdown} ends everything.
 *
 * <p><b>Ownership.</b> The manager owns its storages, compiled kernels, queues and pools. It ends
 * them in this order; storages end when their work is done.
 */
final class DeviceMemoryManager implements UnifiedMemoryManager {
  private final DeviceAccelerator accelerator;
  private final StorageContext context;
  private final ManagerState state;
  private final @Nullable MemoryLimit limit;
  private final MemoryPools pools;
  private final ArrayPools arrays;
  private final LeakDetector leakDetector;
  private final ManagerReports managerReports;
  private final Reclaimer reclaimer;
  private final Suspender suspender;
  private final Reservations reservations;
  private final BufferAllocator allocator;
  private final ExternalBuffers external;
  private final Lender lender;
  private final LeakReclaimer leaks;
  private final ManagerMaintenance maintenance;
  private final ManagerShutdown shutdown;
  private final @Nullable Runnable unregistering;
  private final DeviceCalibration calibrations;
  private final ProgramCache kernels;
  private final TransferEngine transfers;
  private final OnDemandLink link;
  private final Once closing = new Once();
  private final Consumer<DeviceMemoryManager> whenEnded;
  private final @Nullable ManagerObserver observer = ManagerObserver.installed();

  /**
   * Creates a manager.
   *
   * @param whenEnded is run when everything is freed
   */
  DeviceMemoryManager(
      RuntimeSession session,
      DeviceAccelerator accelerator,
      MemoryOptions options,
      Consumer<DeviceMemoryManager> whenEnded) {
    Device device = accelerator.device();
    DeviceContext shared = session.context(accelerator);
    ReservationLedger reserved = session.reservations(device);
    this.accelerator = accelerator;
    this.whenEnded = whenEnded;
    PressureMonitor pressure =
        PressureMonitor.of(options, accelerator.id(), shared.workers().callbackExecutor());
    this.limit =
        options.memoryLimit() == -1 ? null : new MemoryLimit(options.memoryLimit(), pressure);
    this.pools =
        new MemoryPools(
            device,
            limit == null ? session.sharedHostPools(options) : null,
            limit,
            reserved,
            session.hostReservations(),
            session.allocator(),
            session.resources(),
            session.pinnedReclaimer(),
            options);
    this.arrays = new ArrayPools(options);
    OutOfMemoryDumps dumps = options.dumpDirectory().map(OutOfMemoryDumps::new).orElse(null);
    // The context opens the spill file, which would stay open if a later statement refused the
    // options.
    this.context = new StorageContext(this, shared, options, this::link, session.peers(), pools);
    this.state = context.state();
    this.managerReports =
        new ManagerReports(context, pools, arrays, session.pinned(), reserved, dumps);
    this.leakDetector = new LeakDetector(context, context.counters());
    this.leaks = new LeakReclaimer(context, leakDetector);
    this.reclaimer = new Reclaimer(context, pools, session::reclaimers);
    this.suspender = new Suspender(context, pools);
    OutOfMemoryMessages exceptions =
        new OutOfMemoryMessages(context, pools, limit, reserved, managerReports::bytesByTag);
    UnreachableBuffers unreachable = new UnreachableBuffers(context, pools, leaks::reclaim);
    OutOfMemoryRecovery recovery =
        new OutOfMemoryRecovery(context, reclaimer, exceptions, unreachable);
    this.reservations = new Reservations(context, pools, reserved, limit, recovery, exceptions);
    BlockAllocator blocks =
        new BlockAllocator(context, pools, recovery, exceptions, managerReports::exhausted);
    context.blocksFrom(blocks);
    this.allocator = new BufferAllocator(context, blocks, leakDetector, session.trace());
    this.external =
        new ExternalBuffers(context, session.resources(), reclaimer, blocks, leakDetector);
    this.lender = new Lender(context);
    this.calibrations =
        new DeviceCalibration(context, blocks, session.devices(), session::calibration);
    this.link =
        new OnDemandLink(
            () ->
                new DeviceLink(
                    device,
                    blocks::forStaging,
                    shared.workers().staging(),
                    options.stagingChunk(),
                    calibrations::whenWorthwhile),
            session.resources());
    this.kernels = new ProgramCache(context, allocator, session.resources());
    this.transfers = new DefaultTransferEngine(context, calibrations, link);
    this.maintenance =
        new ManagerMaintenance(
            context,
            leaks,
            lender,
            kernels,
            reclaimer,
            pools,
            arrays,
            leakDetector,
            limit,
            pressure);
    this.shutdown = new ManagerShutdown(context, lender, pools, this::end);
    AutoCloseable bean = options.jmx() ? ManagementBean.register(this) : null;
    this.unregistering = bean == null ? null : session.resources().registered(bean);
    if (observer != null) {
      observer.opened(this);
    }
  }

  private DeviceLink link() {
    return link.get();
  }

  @Override
  public Accelerator accelerator() {
    return accelerator;
  }

  @Override
  public <A> UnifiedBuffer<A> allocate(ElementType<A> type, long length, Allocation allocation) {
    state.checkOpen();
    return allocator.allocate(type, length, allocation);
  }

  @Override
  public <A> CompletableFuture<UnifiedBuffer<A>> allocateAsync(
      ElementType<A> type, long length, Allocation allocation) {
    state.checkOpen();
    return allocator.allocateAsync(type, length, allocation);
  }

  @Override
  public <R extends Record> StructOfArrays<R> allocateStructOfArrays(
      ElementType<R[]> structType, long length, Allocation allocation) {
    state.checkOpen();
    return SoaBuffers.allocate(context, allocator, structType, length, allocation);
  }

  @Override
  public <A> UnifiedBuffer<A> copyOf(A array, Allocation allocation) {
    return allocator.copyOf(
        Objects.requireNonNull(array, "array"), Objects.requireNonNull(allocation, "allocation"));
  }

  @Override
  public <A> UnifiedBuffer<A> wrap(ElementType<A> type, MemorySegment memory) {
    return wrap(type, memory, MemoryLocation.HOST);
  }

  @Override
  public <A> UnifiedBuffer<A> wrap(
      ElementType<A> type, MemorySegment memory, MemoryLocation location) {
    return wrap(type, memory, location, "wrapped");
  }

  @Override
  public <A> UnifiedBuffer<A> wrap(
      ElementType<A> type, MemorySegment memory, MemoryLocation location, String tag) {
    Objects.requireNonNull(tag, "tag");
    return state.during(
        () ->
            switch (Objects.requireNonNull(location, "location")) {
              case HOST -> external.wrap(type, memory, tag);
              case PINNED -> external.wrapLocked(type, memory, pools::lock, tag);
              case DEVICE, UNIFIED ->
                  throw new IllegalArgumentException(
                      "memory of the caller is HOST or PINNED, and cannot be at " + location);
            });
  }

  @Override
  public <A> UnifiedBuffer<A> adopt(
      ElementType<A> type, NativeHandle memory, MapMode mode, Runnable release) {
    return state.during(() -> external.adopt(type, memory, mode, release));
  }

  @Override
  public <A> UnifiedBuffer<A> map(Path file, ElementType<A> type, MapMode mode) {
    // A root has no name; mapping it fails with the error of a folder.
    return map(
        file, type, mode, String.valueOf(Objects.requireNonNull(file, "file").getFileName()));
  }

  @Override
  public <A> UnifiedBuffer<A> map(Path file, ElementType<A> type, MapMode mode, String tag) {
    Objects.requireNonNull(tag, "tag");
    return state.during(() -> external.map(file, type, mode, tag));
  }

  @Override
  public <A> UnifiedBuffer<A> createShared(
      ElementType<A> type, long length, String name, MemoryLocation location) {
    return state.during(() -> external.createShared(type, length, name, location));
  }

  @Override
  public <A> UnifiedBuffer<A> openShared(
      ElementType<A> type, String name, MemoryLocation location) {
    return state.during(() -> external.openShared(type, name, location));
  }

  @Override
  public <A> CompletableFuture<UnifiedBuffer<A>> createSharedAsync(
      ElementType<A> type, long length, String name, MemoryLocation location) {
    return inBackground(() -> createShared(type, length, name, location), UnifiedBuffer::close);
  }

  @Override
  public <A> CompletableFuture<UnifiedBuffer<A>> openSharedAsync(
      ElementType<A> type, String name, MemoryLocation location) {
    return inBackground(() -> openShared(type, name, location), UnifiedBuffer::close);
  }

  @Override
  public <R extends Record> CompletableFuture<StructOfArrays<R>> allocateStructOfArraysAsync(
      ElementType<R[]> structType, long length, Allocation allocation) {
    return inBackground(
        () -> allocateStructOfArrays(structType, length, allocation), StructOfArrays::close);
  }

  @Override
  public <A> CompletableFuture<UnifiedBuffer<A>> copyOfAsync(A array, Allocation allocation) {
    return inBackground(() -> copyOf(array, allocation), UnifiedBuffer::close);
  }

  @Override
  public CompletableFuture<Kernel> compileAsync(KernelSource source) {
    return inBackground(() -> compile(source), Kernel::close);
  }

  @Override
  public CompletableFuture<Long> trimExcessAsync() {
    return inBackground(this::trimExcess);
  }

  @Override
  public CompletableFuture<Reservation> reserveAsync(String name, long bytes, Duration timeout) {
    state.checkOpen();
    return reservations.reserveAsync(name, bytes, timeout);
  }

  @Override
  public CompletableFuture<Suspension> suspendAsync() {
    return inBackground(this::suspend);
  }

  @Override
  public CompletableFuture<Long> resumeAsync() {
    return inBackground(this::resume);
  }

  @Override
  public <A> ArrayPool<A> arrays(ElementType<A> type) {
    state.checkOpen();
    return arrays.of(type);
  }

  @Override
  public Kernel compile(KernelSource source) {
    Objects.requireNonNull(source, "source");
    return state.during(() -> kernels.compile(source));
  }

  /** Returns the programs of this manager. */
  ProgramCache kernels() {
    return kernels;
  }

  @Override
  public MemoryStatistics statistics() {
    return managerReports.statistics();
  }

  @Override
  public List<PoolStatistics> pools() {
    state.checkOpen();
    return pools.statistics();
  }

  @Override
  public Map<String, Long> bytesByTag() {
    state.checkOpen();
    return managerReports.bytesByTag();
  }

  @Override
  public List<GuardReport> checkGuards() {
    state.checkOpen();
    if (!context.isParanoid()) {
      throw new IllegalStateException(
          "buffers have guard zones at diagnostics=paranoid only, and these are at "
              + context.options().diagnostics());
    }
    return state.during(() -> GuardInspection.of(context));
  }

  @Override
  public PeakScope pushPeak(String name) {
    state.checkOpen();
    return context.counters().pushPeak(Objects.requireNonNull(name, "name"));
  }

  @Override
  public CompletableFuture<List<GuardReport>> checkGuardsAsync() {
    return inBackground(this::checkGuards);
  }

  @Override
  public Snapshot snapshot() {
    return state.during(() -> managerReports.snapshot("request"));
  }

  @Override
  public CompletableFuture<Snapshot> snapshotAsync() {
    return inBackground(this::snapshot);
  }

  @Override
  public List<BufferInfo> buffers() {
    state.checkOpen();
    return context.registry().all().stream()
        .filter(core -> !core.isClosing())
        .map(BufferCore::info)
        .toList();
  }

  /** Returns the idle blocks of page-locked memory. */
  Stream<ReclaimHandle> idlePinned() {
    return pools.idlePinned();
  }

  @Override
  public OptionalLong limit() {
    return limit == null ? OptionalLong.empty() : OptionalLong.of(limit.limitBytes());
  }

  @Override
  public void limit(long bytes) {
    state.checkOpen();
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
    limit.set(bytes, pools::idleBytes, this::trimExcess);
    // A waiting request may now fit, or can never fit.
    context.waiters().released(context.device());
  }

  /** Returns the reclaimer, which frees memory when memory is short. */
  Reclaimer reclaimer() {
    return reclaimer;
  }

  @Override
  public long trimExcess() {
    return state.during(() -> reclaimer.trim() + arrays.trim());
  }

  @Override
  public Fragmentation fragmentation() {
    return state.during(reclaimer::fragmentation);
  }

  @Override
  public Defragmentation defragment() {
    return state.during(reclaimer::defragment);
  }

  @Override
  public CompletableFuture<Defragmentation> defragmentAsync() {
    return inBackground(this::defragment);
  }

  private <T> CompletableFuture<T> inBackground(Supplier<T> work) {
    return inBackground(work, _ -> {});
  }

  /**
   * Runs work that may block for long. {@link #synchronize()} does not wait for it.
   *
   * @param undo receives the result if the future was cancelled
   */
  private <T> CompletableFuture<T> inBackground(Supplier<T> work, Consumer<T> undo) {
    state.checkOpen();
    return BackgroundWork.start(work, undo);
  }

  @Override
  public Reservation reserve(String name, long bytes, Duration timeout) {
    state.checkOpen();
    return reservations.reserve(name, bytes, timeout);
  }

  @Override
  public List<Reservation> reservations() {
    state.checkOpen();
    return reservations.open();
  }

  @Override
  public Suspension suspend() {
    state.checkOpen();
    context.checkMayAwaitWork("suspend()");
    return state.during(suspender::suspend);
  }

  @Override
  public long resume() {
    state.checkOpen();
    context.checkMayAwaitWork("resume()");
    return state.during(suspender::resume);
  }

  @Override
  public void synchronize() {
    state.checkOpen();
    context.checkMayAwaitWork("synchronize()");
    context.awaitWork();
    context.awaitFutures();
    context.writeBack();
  }

  @Override
  public CompletableFuture<Void> synchronizeAsync() {
    return inBackground(
        () -> {
          synchronize();
          return null;
        });
  }

  @Override
  public NativeAccess lend(NativeUse... uses) {
    return state.during(() -> lender.lend(uses));
  }

  @Override
  public CompletableFuture<NativeAccess> lendAsync(NativeUse... uses) {
    return inBackground(() -> lend(uses), NativeAccess::close);
  }

  @Override
  public NativeAccess lendOn(long queue, NativeUse... uses) {
    return state.during(() -> lender.lendOn(queue, uses));
  }

  @Override
  public CompletableFuture<NativeAccess> lendOnAsync(long queue, NativeUse... uses) {
    return inBackground(() -> lendOn(queue, uses), NativeAccess::close);
  }

  @Override
  public TransferEngine transfers() {
    state.checkOpen();
    return transfers;
  }

  /** Returns the calibration, which measures the transfer costs of this accelerator. */
  DeviceCalibration calibrations() {
    return calibrations;
  }

  /** Returns the state that all parts of this manager share. */
  StorageContext context() {
    return context;
  }

  /**
   * Does the regular work for this manager. The session's maintenance thread calls this.
   *
   * @param hostIsShort whether the host has little memory left
   */
  void maintain(boolean hostIsShort) {
    state.beforeEnd(() -> maintenance.run(hostIsShort));
  }

  /** Closes the manager. If another thread is closing it, waits for that thread. */
  @Override
  public void close() {
    StackReserve.checkForTwo();
    context.checkMayAwaitWork("close()");
    ProgressNotifier.checkMayClose(context.session());
    closeAndReport().run();
  }

  /**
   * Closes like {@link #close}, but does not report open buffers and reservations yet.
   *
   * @return a task that reports them, also to the user's listener. Threads that wait for the close
   *     do not wait for this task.
   */
  Runnable closeAndReport() {
    LeakSummary open = new LeakSummary(context, LeakReport.Cause.OPEN_AT_CLOSE);
    // Before anything is closed, because the heap may later have no room for the list.
    List<UnclosedReservationReport> reserved = reservations.unclosed();
    AtomicBoolean closes = new AtomicBoolean();
    closing.run(
        () -> {
          closes.set(true);
          if (observer != null) {
            Closing.surviving("the observer of managers", () -> observer.closing(this));
          }
          state.close();
          reservations.managerCloses();
          if (unregistering != null) {
            unregistering.run();
          }
          Closing.surviving("array pools", arrays);
          shutdown.closeBuffers(open);
          context.awaitFutures();
        });
    return () -> leaks.wereOpen(open, closes.get() ? reserved : List.of());
  }

  /** Frees everything else once every buffer is freed. */
  private void end() {
    // Otherwise a user that keeps a measurement would keep this manager reachable.
    Closing.surviving("leak groups", leakDetector::seal);
    Closing.surviving("kernels", kernels);
    Closing.surviving("queues", link::end);
    Closing.surviving("reservations", reservations::closeAll);
    Closing.surviving("pools", pools);
    // A buffer that was allocated meanwhile closes itself and returns its block.
    pools.awaitReturned();
    SpillFile spilling = context.spilling();
    if (spilling != null) {
      Closing.surviving("the spill file", spilling);
    }
    whenEnded.accept(this);
  }

  @Override
  public String toString() {
    return "memory of " + accelerator;
  }
}
