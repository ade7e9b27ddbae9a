package dev.tidepool.runtime;

import dev.tidepool.Accelerator;
import dev.tidepool.AcceleratorKind;
import dev.tidepool.ComputeOrchestrator;
import dev.tidepool.MemoryOptions;
import dev.tidepool.TidepoolRuntime;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.cpu.CpuDevice;
import dev.tidepool.host.HostMemory;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.host.PinnedBudget;
import dev.tidepool.pool.BlockPool;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The accelerators of one {@code Tidepool}, their managers, and the threads behind them.
 *
 * <p><b>Order of the end.</b> Managers first, each when its last buffer is freed, then devices and
 * threads. Its monitor guards the default managers and the closing; under it a device is asked for
 * its memory at most.
 */
final class RuntimeSession implements TidepoolRuntime.Session {
  private final MemoryOptions options;
  private final @Nullable AllocationTrace trace;
  private final List<DeviceAccelerator> accelerators;
  private final List<String> notes;
  private final MemoryAllocator allocator = new MemoryAllocator();
  private final PinnedBudget pinned;
  private final PinnedRoom pinnedRoom;
  private final BlockPool hostPool;
  private final Workers workers;
  private final Maintenance maintenance;
  private final Orchestrator orchestrator = new Orchestrator(this);
  private final Peers peers;
  private final Set<AcceleratorMemory> managers = ConcurrentHashMap.newKeySet();
  private final Map<Device, Placing.Turn> placing = new ConcurrentHashMap<>();
  private final Map<Device, Headway> headways = new ConcurrentHashMap<>();
  // Guarded by this.
  private final Map<DeviceAccelerator, AcceleratorMemory> defaults = new LinkedHashMap<>();
  private boolean closed;
  private boolean devicesClosed;

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
    this.peers = new Peers(this, accelerators, options.peerAccess());
    this.pinned =
        new PinnedBudget(
            options.pinnedLimit() == -1
                ? HostMemory.now().totalBytes() / 4
                : options.pinnedLimit());
    this.pinnedRoom = new PinnedRoom(pinned, managers);
    this.hostPool = Pools.hostPool(allocator, options);
    this.workers = new Workers(options.concurrentTransfers());
    this.maintenance = new Maintenance(this);
  }

  /** Whose turn it is to find memory of a device for work over several buffers. */
  Placing.Turn placing(Device device) {
    return placing.computeIfAbsent(device, _ -> new Placing.Turn());
  }

  /** What tells those who wait for memory of a device whether that helps. */
  Headway headway(Device device) {
    return headways.computeIfAbsent(device, _ -> new Headway());
  }

  /**
   * Asks all providers; the CPU is always there, last.
   *
   * @throws dev.tidepool.TransferException if the file of a trace, or one in the spill directory,
   *     cannot be written
   */
  static RuntimeSession discover(MemoryOptions options) {
    // Before anything is opened that would have to be closed again.
    options
        .spillDirectory()
        .ifPresent(directory -> Closing.quietly("the spill file", SpillFile.open(directory)));
    AllocationTrace trace = options.trace().map(AllocationTrace::open).orElse(null);
    List<Device> devices = new ArrayList<>();
    List<String> notes = new ArrayList<>();
    for (AcceleratorProvider provider : Discovery.chosenOr(RuntimeSession::installed)) {
      try {
        Discovery found = provider.discover();
        devices.addAll(found.devices());
        notes.addAll(found.notes());
      } catch (RuntimeException | LinkageError e) {
        notes.add(provider.name() + ": discovery failed: " + e);
      }
    }
    devices.sort(Comparator.comparingInt(device -> rank(device.info().kind())));
    devices.add(new CpuDevice());
    RuntimeSession session = new RuntimeSession(options, trace, devices, notes);
    session.maintenance.start();
    return session;
  }

  /** Best first; among equals the driver of one vendor, such as CUDA, before one for all. */
  private static int rank(AcceleratorKind kind) {
    return switch (kind) {
      case GPU -> 0;
      case OTHER -> 1;
      case CPU -> 2;
    };
  }

  private static List<AcceleratorProvider> installed() {
    return ServiceLoader.load(AcceleratorProvider.class, AcceleratorProvider.class.getClassLoader())
        .stream()
        .map(ServiceLoader.Provider::get)
        // The order of the path is nobody's choice; this one has cuda and metal before opencl.
        .sorted(Comparator.comparing(AcceleratorProvider::name))
        .toList();
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
  public AcceleratorMemory memory(Accelerator accelerator) {
    DeviceAccelerator device = deviceOf(accelerator);
    synchronized (this) {
      checkOpen();
      return defaults.computeIfAbsent(device, key -> manager(key, options));
    }
  }

  DeviceAccelerator deviceOf(Accelerator accelerator) {
    if (!(accelerator instanceof DeviceAccelerator device) || device.session() != this) {
      throw new IllegalArgumentException(
          "the accelerator " + accelerator.id() + " is of another Tidepool");
    }
    return device;
  }

  private AcceleratorMemory manager(DeviceAccelerator device, MemoryOptions options) {
    AcceleratorMemory manager = new AcceleratorMemory(this, device, options, this::ended);
    managers.add(manager);
    return manager;
  }

  /** A further manager, with options of its own. */
  UnifiedMemoryManager furtherManager(DeviceAccelerator device, MemoryOptions options) {
    synchronized (this) {
      checkOpen();
      return manager(device, options);
    }
  }

  /** The manager that is all there is of this session: closing it closes the session. */
  UnifiedMemoryManager managerThatEnds(Accelerator accelerator) {
    synchronized (this) {
      AcceleratorMemory manager =
          new AcceleratorMemory(
              this,
              deviceOf(accelerator),
              options,
              ending -> {
                ended(ending);
                close();
              });
      managers.add(manager);
      defaults.put(manager.deviceAccelerator(), manager);
      return manager;
    }
  }

  @Override
  public ComputeOrchestrator orchestrator() {
    checkOpen();
    return orchestrator;
  }

  @Override
  public Peers peers() {
    return peers;
  }

  MemoryAllocator allocator() {
    return allocator;
  }

  /**
   * The pool of plain host memory that managers share; null for one whose options differ from the
   * session's.
   */
  @Nullable BlockPool sharedHostPool(MemoryOptions wanted) {
    return wanted.equals(options) ? hostPool : null;
  }

  /** Where allocations are written down; null if they are not. All managers share it. */
  @Nullable AllocationTrace trace() {
    return trace;
  }

  PinnedBudget pinned() {
    return pinned;
  }

  /** Where managers find room in that budget. */
  PinnedRoom pinnedRoom() {
    return pinnedRoom;
  }

  Workers workers() {
    return workers;
  }

  Set<AcceleratorMemory> managers() {
    return managers;
  }

  void checkOpen() {
    synchronized (this) {
      if (closed) {
        throw new IllegalStateException("this Tidepool is closed; open another");
      }
    }
  }

  /** A manager has freed everything. */
  private void ended(AcceleratorMemory manager) {
    managers.remove(manager);
    closeDevicesIfLast();
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    managers.forEach(AcceleratorMemory::close);
    closeDevicesIfLast();
  }

  private void closeDevicesIfLast() {
    synchronized (this) {
      if (!closed || devicesClosed || !managers.isEmpty()) {
        return;
      }
      devicesClosed = true;
    }
    maintenance.close();
    peers.close(
        () ->
            accelerators.forEach(
                accelerator -> Closing.quietly(accelerator.id(), accelerator.device())));
    Closing.quietly("the host's pool", hostPool);
    workers.close();
    if (trace != null) {
      trace.close();
    }
  }
}
