package dev.tidepool.runtime.session;

import dev.tidepool.Accelerator;
import dev.tidepool.ComputeOrchestrator;
import dev.tidepool.MemoryOptions;
import dev.tidepool.TidepoolRuntime;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.host.HostMemory;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.host.PinnedBudget;
import dev.tidepool.runtime.buffer.SmallTransferBatch;
import dev.tidepool.runtime.context.CoarseClock;
import dev.tidepool.runtime.context.DeviceContext;
import dev.tidepool.runtime.context.OpenSession;
import dev.tidepool.runtime.context.OperationGate;
import dev.tidepool.runtime.metering.AllocationSites;
import dev.tidepool.runtime.metering.AllocationTrace;
import dev.tidepool.runtime.metering.DiagnosticSink;
import dev.tidepool.runtime.order.MemoryWaiters;
import dev.tidepool.runtime.order.MultiBufferAdmission;
import dev.tidepool.runtime.reclaim.Reclaimer;
import dev.tidepool.runtime.report.OutOfMemoryDumps;
import dev.tidepool.runtime.storage.SpillFile;
import dev.tidepool.runtime.supply.HostPools;
import dev.tidepool.runtime.supply.PinnedReclaimer;
import dev.tidepool.runtime.supply.PoolFactory;
import dev.tidepool.runtime.supply.ReservationLedger;
import dev.tidepool.runtime.supply.SessionResources;
import dev.tidepool.runtime.threads.Once;
import dev.tidepool.runtime.threads.SessionExecutors;
import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.runtime.transfers.DeviceAccelerator;
import dev.tidepool.runtime.transfers.DeviceCalibration;
import dev.tidepool.runtime.transfers.PeerLinks;
import dev.tidepool.runtime.transfers.ProgressNotifier;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.FailureLog;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The accelerators of one {@code Tidepool}, their managers, and its threads.
 *
 * <p><b>Closing order.</b> Managers end first, each when its last buffer is freed, then devices and
 * threads. The monitor guards the default managers and {@code closed}. A thread that holds the
 * monitor calls no driver, except to request the memory size of a device.
 */
final class RuntimeSession implements TidepoolRuntime.Session, OpenSession {
  private final MemoryOptions options;
  private final @Nullable AllocationTrace trace;
  private final List<DeviceAccelerator> accelerators;
  private final List<String> notes;
  private final MemoryAllocator allocator = new MemoryAllocator();
  private final PinnedBudget pinned;
  private final PinnedReclaimer pinnedReclaimer;
  private final HostPools hostPools;
  private final SessionExecutors workers;
  private final SessionResources resources;
  private final SessionMaintenance maintenance;
  private final Orchestrator orchestrator = new Orchestrator(this);
  private final PeerLinks peers;
  private final Set<DeviceMemoryManager> managers = ConcurrentHashMap.newKeySet();
  private final CoarseClock clock = new CoarseClock();
  private final MemoryWaiters waiters = new MemoryWaiters();
  private final Map<Device, DeviceContext> contexts;
  private final Map<Device, ReservationLedger> reservations;
  // Guarded by this.
  private final Map<DeviceAccelerator, DeviceMemoryManager> defaults = new LinkedHashMap<>();
  private boolean closed;
  // Counts calls that use a device and no manager.
  private final OperationGate gate = new OperationGate();
  private final Once closing = new Once();
  private final Once closingDevices = new Once();

  private RuntimeSession(
      MemoryOptions options,
      @Nullable AllocationTrace trace,
      List<Device> devices,
      List<String> notes) {
    this.options = options;
    this.trace = trace;
    this.accelerators =
        devices.stream().map(device -> new DeviceAccelerator(this, device)).toList();
    this.notes = List.copyOf(notes);
    this.pinned =
        new PinnedBudget(
            options.pinnedLimit() == -1
                ? HostMemory.now().totalBytes() / 4
                : options.pinnedLimit());
    this.pinnedReclaimer =
        new PinnedReclaimer(
            pinned, () -> managers.stream().flatMap(DeviceMemoryManager::idlePinned));
    this.resources =
        new SessionResources(
            devices,
            new DiagnosticSink(options.reportListener()),
            new AllocationSites().here(),
            trace);
    this.reservations =
        devices.stream()
            .collect(Collectors.toUnmodifiableMap(Function.identity(), ReservationLedger::new));
    this.hostPools = PoolFactory.hostPools(allocator, resources, hostReservations(), null, options);
    this.workers = new SessionExecutors(options.concurrentTransfers(), SmallTransferBatch::next);
    this.peers =
        new PeerLinks(this, accelerators, options.peerAccess(), workers.callbackExecutor());
    this.contexts =
        devices.stream().collect(Collectors.toUnmodifiableMap(Function.identity(), this::context));
    this.maintenance = new SessionMaintenance(this, resources, clock);
  }

  private DeviceContext context(Device device) {
    return new DeviceContext(
        this, device, workers, clock, waiters, new MultiBufferAdmission.Turn(waiters));
  }

  ReservationLedger reservations(Device device) {
    return Objects.requireNonNull(reservations.get(device), "one of this session");
  }

  /** Returns the reservations of the host's memory, which are those of the CPU. */
  ReservationLedger hostReservations() {
    return reservations(accelerators.getLast().device());
  }

  DeviceContext context(DeviceAccelerator accelerator) {
    return Objects.requireNonNull(contexts.get(accelerator.device()), "one of this session");
  }

  /**
   * Opens a session with the devices of all providers. The CPU is always present, as the last
   * device.
   *
   * @throws IllegalArgumentException if the dump directory is not a writable folder
   * @throws dev.tidepool.TransferException if the file of a trace, or one in the spill directory,
   *     cannot be written
   */
  static RuntimeSession discover(MemoryOptions options) {
    return discover(options, _ -> true);
  }

  /**
   * Opens a session with the devices of some providers.
   *
   * @param asked selects the providers
   */
  static RuntimeSession discover(MemoryOptions options, Predicate<AcceleratorProvider> asked) {
    // Checked before anything is opened that a failure would have to close.
    options.dumpDirectory().ifPresent(OutOfMemoryDumps::check);
    options
        .spillDirectory()
        .ifPresent(directory -> Closing.surviving("the spill file", SpillFile.open(directory)));
    DeviceDiscovery found = new DeviceDiscovery();
    AllocationTrace trace = options.trace().map(AllocationTrace::open).orElse(null);
    try {
      found.run(options, asked);
      RuntimeSession session = new RuntimeSession(options, trace, found.devices(), found.notes());
      session.maintenance.start();
      return session;
    } catch (Throwable e) {
      // The caller gets no session, so this method closes its parts.
      found.closeAll();
      if (trace != null) {
        trace.close();
      }
      throw e;
    }
  }

  @Override
  public List<Accelerator> accelerators() {
    return List.copyOf(accelerators);
  }

  @Override
  public List<String> notes() {
    return notes;
  }

  @Override
  public DeviceMemoryManager memory(Accelerator accelerator) {
    DeviceAccelerator device = DeviceAccelerator.of(accelerator, this);
    synchronized (this) {
      checkOpen();
      return defaults.computeIfAbsent(device, key -> manager(key, options, this::ended));
    }
  }

  private DeviceMemoryManager manager(
      DeviceAccelerator device, MemoryOptions options, Consumer<DeviceMemoryManager> whenEnded) {
    DeviceMemoryManager manager = new DeviceMemoryManager(this, device, options, whenEnded);
    managers.add(manager);
    return manager;
  }

  /**
   * Creates another manager, with its own options.
   *
   * @throws IllegalArgumentException if they differ from the session's in an option that all
   *     managers share
   */
  UnifiedMemoryManager furtherManager(DeviceAccelerator device, MemoryOptions options) {
    checkShared("pinned-limit", MemoryOptions::pinnedLimit, options);
    checkShared("managed-memory", MemoryOptions::managedMemory, options);
    checkShared("zero-copy-buffers", MemoryOptions::zeroCopyBuffers, options);
    checkShared("peer-access", MemoryOptions::peerAccess, options);
    checkShared("concurrent-transfers", MemoryOptions::concurrentTransfers, options);
    checkShared("trace", given -> given.trace().orElse(null), options);
    synchronized (this) {
      checkOpen();
      return manager(device, options, this::ended);
    }
  }

  /** Checks an option that all managers share. A value equal to the default counts as not set. */
  private void checkShared(
      String key, Function<MemoryOptions, @Nullable Object> option, MemoryOptions wanted) {
    Object value = option.apply(wanted);
    Object shared = option.apply(options);
    if (!Objects.equals(value, shared)
        && !Objects.equals(value, option.apply(MemoryOptions.defaults()))) {
      throw new IllegalArgumentException(
          key
              + " is "
              + value
              + " for one manager, but all managers of a Tidepool share it, and this one has "
              + (shared == null ? "none" : shared)
              + "; set it for all of them with Tidepool.open(options)");
    }
  }

  /** Creates the only manager of this session. Closing it closes the session. */
  UnifiedMemoryManager managerThatEnds(Accelerator accelerator) {
    DeviceAccelerator device = DeviceAccelerator.of(accelerator, this);
    synchronized (this) {
      DeviceMemoryManager manager =
          manager(
              device,
              options,
              ending -> {
                ended(ending);
                close();
              });
      defaults.put(device, manager);
      return manager;
    }
  }

  @Override
  public ComputeOrchestrator orchestrator() {
    checkOpen();
    return orchestrator;
  }

  @Override
  public PeerLinks peers() {
    return peers;
  }

  MemoryAllocator allocator() {
    return allocator;
  }

  /**
   * Returns the pools of plain host memory that managers share. Returns null if the manager's
   * options differ from the session's.
   */
  @Nullable HostPools sharedHostPools(MemoryOptions wanted) {
    return wanted.equals(options) ? hostPools : null;
  }

  /** Returns the trace of allocations, which all managers share, or null if there is none. */
  @Nullable AllocationTrace trace() {
    return trace;
  }

  /** Returns the resources that the session has opened in drivers and the operating system. */
  SessionResources resources() {
    return resources;
  }

  PinnedBudget pinned() {
    return pinned;
  }

  /** Returns the reclaimer that makes room in the pinned budget. */
  PinnedReclaimer pinnedReclaimer() {
    return pinnedReclaimer;
  }

  /** Returns the reclaimers of all managers. */
  Stream<Reclaimer> reclaimers() {
    return managers.stream().map(DeviceMemoryManager::reclaimer);
  }

  List<Device> devices() {
    return accelerators.stream().map(DeviceAccelerator::device).toList();
  }

  /** Returns the calibration of the default manager of a device. */
  DeviceCalibration calibration(Device device) {
    return memory(new DeviceAccelerator(this, device)).calibrations();
  }

  Set<DeviceMemoryManager> managers() {
    return managers;
  }

  @Override
  public void checkOpen() {
    synchronized (this) {
      if (closed) {
        throw closedException();
      }
    }
  }

  private static IllegalStateException closedException() {
    return new IllegalStateException("this Tidepool is closed; open another");
  }

  @Override
  public <T> T whileOpen(Supplier<T> question) {
    if (!gate.enter()) {
      throw closedException();
    }
    try {
      return question.get();
    } finally {
      gate.leave();
    }
  }

  /** Removes a manager that has freed everything. */
  private void ended(DeviceMemoryManager manager) {
    managers.remove(manager);
    closeDevicesIfLast();
  }

  SessionExecutors workers() {
    return workers;
  }

  /**
   * Closes the session. If another thread is closing it, waits for that thread. If the heap or the
   * stack is exhausted meanwhile, closes the rest and throws the error. The call may then be
   * repeated.
   */
  @Override
  public void close() {
    StackReserve.checkForTwo();
    managers.forEach(manager -> manager.context().checkMayAwaitWork("close()"));
    ProgressNotifier.checkMayClose(this);
    List<Runnable> reports = new ArrayList<>();
    try {
      closing.run(() -> closeInside(reports));
    } finally {
      // After the close, so that threads that waited for it do not wait for listeners.
      reports.forEach(Runnable::run);
    }
  }

  private void closeInside(List<Runnable> reports) {
    synchronized (this) {
      closed = true;
    }
    gate.close();
    VirtualMachineError failure = null;
    for (DeviceMemoryManager manager : managers) {
      try {
        reports.add(manager.closeAndReport());
      } catch (VirtualMachineError e) {
        failure = e;
      } catch (RuntimeException | Error e) {
        FailureLog.warn("closing ", manager, " failed; the rest is closed all the same", e);
      }
    }
    closeDevicesIfLast();
    // Another thread that ended the last manager may be closing the devices.
    closingDevices.awaitIfBegun();
    if (failure != null) {
      throw failure;
    }
  }

  private void closeDevicesIfLast() {
    synchronized (this) {
      if (!closed || !managers.isEmpty()) {
        return;
      }
    }
    closingDevices.tryRun(this::closeDevices);
  }

  private void closeDevices() {
    gate.awaitQuiet();
    maintenance.close();
    peers.close(
        () -> {
          Closing.surviving("the host's pools", hostPools);
          // If the heap was full, managers have not closed everything.
          resources.closeAll();
        });
    workers.close();
    if (trace != null) {
      trace.close();
    }
  }
}
