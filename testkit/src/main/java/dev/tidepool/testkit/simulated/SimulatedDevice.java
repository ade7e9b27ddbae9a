package dev.tidepool.testkit.simulated;

import dev.tidepool.AcceleratorException;
import dev.tidepool.AcceleratorKind;
import dev.tidepool.Capability;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryInfo;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.host.NumaPolicy;
import dev.tidepool.host.ThreadNumaPolicy;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceInfo;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.LaunchOrder;
import dev.tidepool.spi.NativeMemory;
import dev.tidepool.spi.NativeQueue;
import dev.tidepool.spi.PinnedRanges;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.support.Uninterruptibly;
import dev.tidepool.testkit.NativeFill;
import dev.tidepool.testkit.SpiCall;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * An accelerator made of host memory; the package describes its use.
 *
 * <p>Locking: {@code accounts} guards the memory accounts and {@code closed}, {@code gate} the
 * pause. With either held, only the ledger is called. All other state is in concurrent sets and
 * counters.
 */
public final class SimulatedDevice implements Device {
  private static final AtomicLong NUMBERS = new AtomicLong();

  private final SimulatedProvider provider;
  private final SimulatedHardware hardware;
  private final DeviceInfo info;
  private final DriverLedger ledger;

  private final Set<SimulatedBlock> blocks = ConcurrentHashMap.newKeySet();
  private final Set<SimulatedQueue> queues = ConcurrentHashMap.newKeySet();
  // Queues that tests created, and the runtime's references to them.
  private final Map<Long, SimulatedQueue> foreignQueues = new ConcurrentHashMap<>();
  private final Set<SimulatedForeignQueue> heldQueues = ConcurrentHashMap.newKeySet();
  private final Set<Program> programs = ConcurrentHashMap.newKeySet();
  private final Set<SimulatedEvent> events = ConcurrentHashMap.newKeySet();

  private final PinnedRanges pinned = new PinnedRanges();
  private final Wire up = new Wire(System.nanoTime());
  private final Wire down = new Wire(System.nanoTime());
  private final Wire across = new Wire(System.nanoTime());

  private final Object accounts = new Object();
  private long usedBytes;
  private long pinnedBytes;
  private boolean closed;

  private volatile NumaPolicy lockedUnder = NumaPolicy.LOCAL;
  private volatile @Nullable Thread lockedBy;

  private final Object gate = new Object();
  private boolean paused;
  private int admitted;

  // The number of launches until one fails; 0 if none shall fail.
  private final AtomicLong launchesToFailure = new AtomicLong();
  private volatile @Nullable AcceleratorException lost;

  SimulatedDevice(SimulatedProvider provider, String id, SimulatedHardware hardware) {
    this.provider = provider;
    this.hardware = hardware;
    ledger = new DriverLedger(id);
    info =
        new DeviceInfo(
            id,
            "Simulated " + (hardware.hostAccess() == HostAccess.NONE ? "discrete" : "integrated"),
            driver(hardware.link()),
            AcceleratorKind.OTHER,
            capabilities(hardware),
            hardware.maximumAllocation());
  }

  /** Returns a driver name for the speed of the link, so that speeds do not share a calibration. */
  private static String driver(SimulatedLink link) {
    return "tidepool-testkit" + (link.equals(SimulatedLink.INSTANT) ? "" : " over a " + link);
  }

  private static Set<Capability> capabilities(SimulatedHardware hardware) {
    Set<Capability> capabilities =
        EnumSet.of(
            Capability.PINNED_MEMORY,
            Capability.FLOAT64,
            Capability.FLOAT_SUBNORMALS,
            Capability.JAVA_KERNELS);
    if (hardware.unified()) {
      capabilities.add(Capability.UNIFIED_MEMORY);
    }
    if (hardware.hostAccess() != HostAccess.NONE) {
      capabilities.add(Capability.SHARED_MEMORY);
    }
    return capabilities;
  }

  /** Returns the ledger of this device. */
  public DriverLedger ledger() {
    return ledger;
  }

  /** Returns the number of live blocks. */
  public int liveBlocks() {
    return blocks.size();
  }

  /** Returns the number of programs that are not closed. */
  public int livePrograms() {
    return programs.size();
  }

  /** Returns the number of open queues. */
  public int openQueues() {
    return queues.size();
  }

  /** Returns the NUMA policy of the thread that allocated the last PINNED block, at that time. */
  public NumaPolicy lockedUnder() {
    return lockedUnder;
  }

  /** Returns the thread that allocated the last PINNED block; null before the first. */
  public @Nullable Thread lockedBy() {
    return lockedBy;
  }

  /** Returns the number of events that are not closed. */
  public int openEvents() {
    return events.size();
  }

  /**
   * Makes a launch run and fail; the {@link FailureModel} determines the effect on the device.
   *
   * @param nth the launch, counted from 1 for the next one
   */
  public void failLaunch(long nth) {
    if (nth < 1) {
      throw new IllegalArgumentException("the next launch is number 1, not " + nth);
    }
    launchesToFailure.set(nth);
  }

  boolean nextLaunchFails() {
    return launchesToFailure.get() > 0 && launchesToFailure.decrementAndGet() == 0;
  }

  AcceleratorException launchFailed() {
    AcceleratorException failure =
        new AcceleratorException(
            "LAUNCH",
            -4,
            "SIMULATED_LAUNCH_FAILED",
            "this launch was chosen to fail",
            hardware.failures() == FailureModel.STICKY
                ? AcceleratorException.Kind.DEVICE_LOST
                : AcceleratorException.Kind.PERMANENT);
    if (hardware.failures() == FailureModel.STICKY) {
      lost = failure;
    }
    return failure;
  }

  boolean isLost() {
    return lost != null;
  }

  /** Throws if the device is lost. */
  void checkAlive(String call) {
    AcceleratorException earlier = lost;
    if (earlier != null) {
      throw new AcceleratorException(
          call,
          -4,
          "SIMULATED_LAUNCH_FAILED",
          "an earlier launch failed",
          AcceleratorException.Kind.DEVICE_LOST);
    }
  }

  /** Throws if a command must not run because an earlier one failed. */
  void checkRuns(String command, boolean dependencyFailed) {
    checkAlive(command);
    if (dependencyFailed && hardware.failures() == FailureModel.SKIPS) {
      throw new AcceleratorException(
          command, -14, "SIMULATED_DEPENDENCY_FAILED", "a command that it depends on failed");
    }
  }

  /** Prevents commands from beginning on any queue until {@link #resume()}. */
  public void pause() {
    synchronized (gate) {
      paused = true;
    }
  }

  /** Allows commands to begin again. */
  public void resume() {
    synchronized (gate) {
      paused = false;
      gate.notifyAll();
    }
  }

  /** Allows a number of commands to begin while the device is {@linkplain #pause paused}. */
  public void admit(int commands) {
    synchronized (gate) {
      admitted += commands;
      gate.notifyAll();
    }
  }

  void passGate() {
    synchronized (gate) {
      Uninterruptibly.await(gate, () -> !paused || admitted > 0);
      admitted = paused ? admitted - 1 : 0;
    }
  }

  @Override
  public DeviceInfo info() {
    return info;
  }

  @Override
  public MemoryInfo memory() {
    synchronized (accounts) {
      return new MemoryInfo(hardware.memoryBytes(), hardware.memoryBytes() - usedBytes, false);
    }
  }

  @Override
  public OptionalInt numaNode() {
    return hardware.numaNode();
  }

  @Override
  public Block allocate(long bytes, long alignment, BlockKind kind) {
    ledger.count(SpiCall.ALLOCATE);
    if (bytes < 1 || (kind != BlockKind.PINNED && bytes > hardware.maximumAllocation())) {
      throw punished(
          "allocate(%s, %s, %s): blocks have 1 to %s bytes"
              .formatted(bytes, alignment, kind, hardware.maximumAllocation()));
    }
    if (alignment < 1 || Long.bitCount(alignment) != 1) {
      throw punished("allocate with an alignment of " + alignment + ", which is no power of two");
    }
    if (kind == BlockKind.UNIFIED && !hardware.unified()) {
      throw new UnsupportedOperationException(info.id() + " has no unified memory");
    }
    reserve(bytes, kind);
    try {
      if (kind == BlockKind.PINNED) {
        // Before the block exists, because the call may fail in tests of a full heap.
        lockedUnder = ThreadNumaPolicy.policy();
        lockedBy = Thread.currentThread();
      }
      SimulatedBlock block =
          new SimulatedBlock(
              this, NUMBERS.incrementAndGet(), bytes, alignment, kind, accessOf(kind));
      blocks.add(block);
      if (kind == BlockKind.PINNED) {
        pinned.add(block.store().address(), bytes);
      }
      return block;
    } catch (Throwable e) {
      unreserve(bytes, kind);
      throw e;
    }
  }

  private HostAccess accessOf(BlockKind kind) {
    return switch (kind) {
      case DEVICE -> hardware.hostAccess();
      case PINNED -> HostAccess.DIRECT;
      case UNIFIED ->
          hardware.hostAccess() == HostAccess.MAPPED ? HostAccess.MAPPED : HostAccess.DIRECT;
    };
  }

  private void reserve(long bytes, BlockKind kind) {
    synchronized (accounts) {
      if (closed) {
        throw punished("allocate on a closed device");
      }
      boolean pinned = kind == BlockKind.PINNED;
      long total = pinned ? hardware.pinnedBytes() : hardware.memoryBytes();
      long free = total - (pinned ? pinnedBytes : usedBytes);
      if (bytes > free) {
        throw new OutOfDeviceMemoryException(
            "%s has %s of %s bytes of %s memory free, %s were asked for"
                .formatted(info.id(), free, total, kind, bytes),
            bytes,
            free,
            total,
            -1);
      }
      if (pinned) {
        pinnedBytes += bytes;
      } else {
        usedBytes += bytes;
      }
    }
  }

  private void unreserve(long bytes, BlockKind kind) {
    synchronized (accounts) {
      if (kind == BlockKind.PINNED) {
        pinnedBytes -= bytes;
      } else {
        usedBytes -= bytes;
      }
    }
  }

  void gone(SimulatedBlock block) {
    blocks.remove(block);
    if (!block.isOwn()) {
      return;
    }
    if (block.kind() == BlockKind.PINNED) {
      pinned.remove(block.store().address());
    }
    unreserve(block.byteSize(), block.kind());
  }

  void opened(SimulatedEvent event) {
    events.add(event);
  }

  void closed(SimulatedEvent event) {
    events.remove(event);
  }

  void closed(SimulatedQueue queue) {
    queues.remove(queue);
  }

  void closed(Program program) {
    if (!programs.remove(program)) {
      ledger.violation("a program is closed twice");
    }
  }

  @Override
  public boolean isPinned(MemorySegment hostBytes) {
    return pinned.contain(hostBytes);
  }

  void carryUp(MemorySegment source, long bytes, Runnable copy) {
    SimulatedLink link = hardware.link();
    up.carry(isPinned(source) ? link.pinnedUp() : link.plainUp(), bytes, copy);
  }

  void carryDown(MemorySegment destination, long bytes, Runnable copy) {
    SimulatedLink link = hardware.link();
    down.carry(isPinned(destination) ? link.pinnedDown() : link.plainDown(), bytes, copy);
  }

  void carryWithin(long bytes, Runnable kernel) {
    across.carry(hardware.link().local(), bytes, kernel);
  }

  void carryAcross(SimulatedDevice source, long bytes, Runnable copy) {
    SimulatedLink link = hardware.link();
    across.carry(source == this ? link.local() : link.peer(), bytes, copy);
  }

  @Override
  public Queue createQueue() {
    ledger.count(SpiCall.CREATE_QUEUE);
    checkOpen("createQueue");
    SimulatedQueue queue = new SimulatedQueue(this, NUMBERS.incrementAndGet());
    queues.add(queue);
    return queue;
  }

  private void checkOpen(String call) {
    synchronized (accounts) {
      if (closed) {
        throw punished(call + " on a closed device");
      }
    }
  }

  @Override
  public boolean lendsBlocks() {
    return true;
  }

  @Override
  public long contextHandle() {
    return System.identityHashCode(provider);
  }

  @Override
  public long deviceHandle() {
    return System.identityHashCode(this);
  }

  @Override
  public NativeMemory lend(Block block, long offset, long bytes, @Nullable NativeKind kind) {
    ledger.count(SpiCall.LEND);
    if (kind != null && kind != NativeKind.CUDA_POINTER) {
      throw new UnsupportedOperationException(info.id() + " has CUDA_POINTER and not " + kind);
    }
    if (!(block instanceof SimulatedBlock own) || own.device() != this) {
      throw punished("lend of " + block + ", which is not of this device");
    }
    long address = own.store().asSlice(offset, bytes).address();
    own.begin();
    return new NativeMemory(new NativeHandle(NativeKind.CUDA_POINTER, address, 0, bytes), own::end);
  }

  @Override
  public Block adopt(NativeHandle memory, boolean written) {
    ledger.count(SpiCall.ADOPT);
    if (memory.kind() != NativeKind.CUDA_POINTER) {
      throw new IllegalArgumentException(info.id() + " has CUDA_POINTER and not " + memory.kind());
    }
    for (SimulatedBlock block : blocks) {
      long start = memory.address() - block.store().address();
      if (block.isOwn() && start >= 0 && start + memory.byteSize() <= block.byteSize()) {
        SimulatedBlock part =
            new SimulatedBlock(block, NUMBERS.incrementAndGet(), start, memory.byteSize());
        blocks.add(part);
        return part;
      }
    }
    throw new IllegalArgumentException(
        info.id() + " has no block with all of the memory of " + memory);
  }

  /** Creates a queue like foreign code does; returns its handle for {@link #closeForeign}. */
  public long createForeign() {
    SimulatedQueue queue = new SimulatedQueue(this, NUMBERS.incrementAndGet());
    foreignQueues.put(queue.handle(), queue);
    return queue.handle();
  }

  /** Closes a queue of {@link #createForeign} after its commands. */
  public void closeForeign(long handle) {
    SimulatedQueue queue = foreignQueues.remove(handle);
    if (queue != null) {
      queue.close();
    }
  }

  /**
   * Submits a command like code outside of Tidepool.
   *
   * @param handle a queue of the runtime, or one of {@link #createForeign}
   */
  public void submitForeign(long handle, Runnable command) {
    Stream.concat(queues.stream(), foreignQueues.values().stream())
        .filter(queue -> queue.handle() == handle)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("there is no queue " + handle))
        .submitForeign(command);
  }

  /** Returns a native command that sets words. */
  public NativeFill nativeFill() {
    return (access, handle, word) -> {
      MemorySegment bytes = MemorySegment.ofAddress(handle.address());
      submitForeign(access.queue(), () -> bytes.reinterpret(handle.byteSize()).fill((byte) word));
    };
  }

  @Override
  public NativeQueue foreignQueue(long handle) {
    ledger.count(SpiCall.CREATE_QUEUE);
    SimulatedQueue queue = foreignQueues.get(handle);
    if (queue == null) {
      throw new IllegalArgumentException("queue " + handle + " is not of " + info.id());
    }
    SimulatedForeignQueue held = new SimulatedForeignQueue(this, queue);
    heldQueues.add(held);
    return held;
  }

  void letGo(SimulatedForeignQueue held) {
    ledger.count(SpiCall.CLOSE_QUEUE);
    heldQueues.remove(held);
  }

  @Override
  public Program compile(KernelSource source, List<KernelParameter> parameters) {
    ledger.count(SpiCall.COMPILE);
    checkOpen("compile");
    SimulatedProgram program =
        switch (source) {
          case KernelSource.Elementwise elementwise ->
              new SimulatedProgram(this, ElementwiseCode.of(elementwise, parameters), parameters);
          case KernelSource.Java java -> new SimulatedProgram(this, new JavaCode(java), parameters);
          case KernelSource.Method method ->
              new SimulatedProgram(this, new MethodCode(method), parameters);
          case KernelSource.HandWritten other ->
              throw new UnsupportedOperationException(
                  info.id() + " runs elementwise and Java sources, not " + other.getClass());
        };
    if (source instanceof KernelSource.HandWritten own && !own.parameters().equals(parameters)) {
      throw new KernelCompilationException(
          "compiled with the parameters " + parameters + ", but it has " + own.parameters(), "");
    }
    programs.add(program);
    return program;
  }

  @Override
  public LaunchOrder launchOrder() {
    return hardware.launchOrder();
  }

  @Override
  public boolean copiesFrom(Device other) {
    return other == this
        || (hardware.peers() && other instanceof SimulatedDevice that && that.provider == provider);
  }

  @Override
  public void enablePeer(Device other) {
    ledger.count(SpiCall.ENABLE_PEER);
    checkPeer("enablePeer", other);
  }

  @Override
  public void disablePeer(Device other) {
    ledger.count(SpiCall.DISABLE_PEER);
    checkPeer("disablePeer", other);
  }

  private void checkPeer(String call, Device other) {
    if (other == this || !copiesDirectlyFrom(other)) {
      throw punished(call + " of " + other + ", which is no peer");
    }
  }

  boolean sharesMemory() {
    return hardware.hostAccess() != HostAccess.NONE;
  }

  SimulatedHardware hardware() {
    return hardware;
  }

  boolean isPeer(SimulatedDevice other) {
    return other.provider == provider;
  }

  boolean owns(Program program) {
    return programs.contains(program);
  }

  /** Records a violation, and returns the exception for the caller. */
  AcceleratorException punished(String what) {
    ledger.violation(what);
    return new AcceleratorException(info.id(), -2, "SIMULATED_VIOLATION", what);
  }

  void checkMayBlock(String call) {
    if (Thread.currentThread().isVirtual()) {
      ledger.violation(call + " blocks a virtual thread's carrier; call it on platform threads");
    }
  }

  @Override
  public void close() {
    ledger.count(SpiCall.CLOSE_DEVICE);
    synchronized (accounts) {
      if (closed) {
        return;
      }
      closed = true;
    }
    reportAlive("queues", queues);
    reportAlive("foreign queues", heldQueues);
    reportAlive("programs", programs);
    reportAlive("events", events);
    reportAlive("blocks", blocks);
  }

  private void reportAlive(String what, Collection<?> alive) {
    if (!alive.isEmpty()) {
      ledger.violation(
          "closed with %s %s alive: %s"
              .formatted(alive.size(), what, alive.stream().limit(5).toList()));
    }
  }

  @Override
  public String toString() {
    return info.id();
  }
}
