package dev.tidepool.cuda;

import dev.tidepool.AcceleratorKind;
import dev.tidepool.Capability;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryInfo;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceInfo;
import dev.tidepool.spi.DeviceSharing;
import dev.tidepool.spi.LaunchOrder;
import dev.tidepool.spi.NativeMemory;
import dev.tidepool.spi.NativeQueue;
import dev.tidepool.spi.Placement;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.DriverCall;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * An opened device. It holds the device's primary context, or an adopted one, and the objects of
 * that context.
 */
final class CudaDevice implements Device {
  private final DeviceInfo info;
  private final DeviceProperties properties;
  private final Context context;
  private final OptionalLong adoptedStream;
  private final DeviceMemory memory;
  private final ScatterKernel scatterKernel;
  private final StagedCopies stagedCopies;
  private final Compiler compiler;
  private final EventPool events = new EventPool();
  private final int lowPriority;
  private final int highPriority;
  // By the other device's number, which identifies the hardware in the whole process.
  private final Map<Integer, Boolean> reachable = new ConcurrentHashMap<>();
  // The devices whose memory this class, and no earlier code, let this device access.
  private final Set<CudaDevice> enabled = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean closed = new AtomicBoolean();

  private CudaDevice(
      String id,
      DeviceProperties properties,
      String driver,
      Context context,
      OptionalLong adoptedStream,
      Settings settings) {
    this.properties = properties;
    this.context = context;
    this.adoptedStream = adoptedStream;
    this.compiler = new Compiler(properties.architecture(), KernelCache.ofThisUser());
    int[] priorities = Cuda.cuCtxGetStreamPriorityRange();
    this.lowPriority = priorities[0];
    this.highPriority = priorities[1];
    this.memory =
        new DeviceMemory(id + " (" + properties.name() + ")", properties, context, settings);
    this.scatterKernel = new ScatterKernel(this, settings.batches() == StagedCopies.Batches.AUTO);
    this.stagedCopies = new StagedCopies(id, properties.major(), settings.batches());
    this.info =
        new DeviceInfo(
            id,
            properties.name(),
            driver + ", compute capability " + properties.major() + "." + properties.minor(),
            AcceleratorKind.GPU,
            capabilities(memory),
            properties.totalMemory());
  }

  /** Opens a device that discovery found. */
  static CudaDevice open(
      String id,
      DeviceProperties properties,
      String driver,
      Settings settings,
      Optional<AdoptedContext> adopted) {
    Context context =
        adopted.map(AdoptedContext::context).orElseGet(() -> Context.retain(properties.handle()));
    OptionalLong stream = adopted.map(AdoptedContext::stream).orElseGet(OptionalLong::empty);
    try {
      return context.call(() -> new CudaDevice(id, properties, driver, context, stream, settings));
    } catch (RuntimeException | Error failed) {
      Closing.surviving(context::release);
      throw failed;
    }
  }

  private static Set<Capability> capabilities(DeviceMemory memory) {
    Set<Capability> capabilities =
        EnumSet.of(
            Capability.PINNED_MEMORY,
            Capability.FLOAT64,
            Capability.FLOAT_SUBNORMALS,
            Capability.CUDA_KERNELS);
    if (memory.hasManaged()) {
      capabilities.add(Capability.UNIFIED_MEMORY);
    }
    return capabilities;
  }

  @Override
  public DeviceInfo info() {
    return info;
  }

  @Override
  public MemoryInfo memory() {
    requireOpen();
    return memory.info();
  }

  @Override
  public long largestBlock(BlockKind kind) {
    return memory.largest(kind);
  }

  @Override
  public OptionalInt numaNode() {
    return properties.hostNode();
  }

  @Override
  public Block allocate(long bytes, long alignment, BlockKind kind) {
    return allocate(bytes, alignment, kind, Placement.ANYWHERE);
  }

  @Override
  public Block allocate(long bytes, long alignment, BlockKind kind, Placement placement) {
    requireOpen();
    return memory.allocate(bytes, alignment, kind, placement);
  }

  @Override
  public Optional<DeviceSharing> sharing() {
    return memory.isShareable() ? Optional.of(new CudaSharing(this)) : Optional.empty();
  }

  /**
   * Returns true for pageable memory: the driver copies it through its own buffers, and its caller
   * waits.
   */
  @Override
  public boolean prefersStaging(MemorySegment hostBytes) {
    return !isPinned(hostBytes);
  }

  @Override
  public boolean isPinned(MemorySegment hostBytes) {
    return DeviceMemory.LOCKED.contain(hostBytes);
  }

  @Override
  public @Nullable Runnable lock(MemorySegment hostBytes) {
    requireOpen();
    return memory.lock(hostBytes);
  }

  @Override
  public Queue createQueue() {
    return createQueue(lowPriority);
  }

  @Override
  public Queue createUrgentQueue() {
    return createQueue(highPriority);
  }

  private Queue createQueue(int priority) {
    requireOpen();
    return adoptedStream.isPresent()
        ? new CudaQueue(this, adoptedStream.getAsLong(), false)
        : new CudaQueue(this, context.call(() -> Cuda.cuStreamCreateWithPriority(priority)), true);
  }

  @Override
  public boolean lendsBlocks() {
    return true;
  }

  @Override
  public long contextHandle() {
    return context.handle();
  }

  @Override
  public long deviceHandle() {
    return properties.handle();
  }

  @Override
  public NativeMemory lend(Block block, long offset, long bytes, @Nullable NativeKind kind) {
    if (!(block instanceof CudaBlock own) || own.owner() != memory) {
      throw new IllegalArgumentException("the block is not of " + name());
    }
    if (kind != null && kind != NativeKind.CUDA_POINTER) {
      throw new UnsupportedOperationException(name() + " lends CUDA_POINTER and not " + kind);
    }
    return NativeMemory.of(
        new NativeHandle(
            NativeKind.CUDA_POINTER, own.requireDevices().address() + offset, 0, bytes));
  }

  @Override
  public Block adopt(NativeHandle handle, boolean written) {
    requireOpen();
    context.run(() -> ForeignMemory.check(this, handle));
    return memory.adopt(handle.address(), handle.byteSize());
  }

  @Override
  public void awaitForeign(long event) {
    requireOpen();
    int code = context.call(() -> Cuda.cuEventSynchronize(event));
    if (code != ErrorCodes.CUDA_SUCCESS) {
      throw NativeCall.failure("cuEventSynchronize", code);
    }
  }

  @Override
  public NativeQueue foreignQueue(long handle) {
    requireOpen();
    return ForeignStream.of(this, handle);
  }

  @Override
  public Program compile(KernelSource source, List<KernelParameter> parameters) {
    requireOpen();
    return switch (source) {
      case KernelSource.Elementwise elementwise ->
          ElementwiseProgram.compile(this, elementwise, parameters);
      case KernelSource.Method method -> MethodProgram.compile(this, method, parameters);
      case KernelSource.Cuda cuda -> HandWrittenProgram.compile(this, cuda);
      case KernelSource.CudaImage image -> HandWrittenProgram.load(this, image);
      case KernelSource.OpenCl _, KernelSource.Metal _, KernelSource.Java _ ->
          throw DriverCall.wrongLanguage(info.id(), "elementwise, Java method and CUDA", source);
    };
  }

  @Override
  public LaunchOrder launchOrder() {
    return LaunchOrder.ACROSS_QUEUES;
  }

  /**
   * Accepts all CUDA devices: if two cannot access each other's memory, the driver copies through
   * the host.
   */
  @Override
  public boolean copiesFrom(Device other) {
    return other instanceof CudaDevice;
  }

  @Override
  public boolean copiesDirectlyFrom(Device other) {
    return other instanceof CudaDevice peer && (peer == this || reaches(peer));
  }

  private boolean reaches(CudaDevice peer) {
    return reachable.computeIfAbsent(
        peer.properties.handle(),
        ordinal -> Cuda.cuDeviceCanAccessPeer(properties.handle(), ordinal));
  }

  /** Shares device memory of a pool, too: a context's peer access does not cover it. */
  @Override
  public void enablePeer(Device other) {
    CudaDevice peer = peer(other);
    if (context.call(() -> Cuda.cuCtxEnablePeerAccess(peer.context.handle()))) {
      enabled.add(peer);
    }
    peer.memory.share(properties.handle(), true);
  }

  /** Access that other code in this process had enabled before stays enabled. */
  @Override
  public void disablePeer(Device other) {
    CudaDevice peer = peer(other);
    peer.memory.share(properties.handle(), false);
    if (enabled.remove(peer)) {
      context.run(() -> Cuda.cuCtxDisablePeerAccess(peer.context.handle()));
    }
  }

  private CudaDevice peer(Device other) {
    requireOpen();
    if (other instanceof CudaDevice peer && peer != this) {
      return peer;
    }
    throw new IllegalArgumentException(
        name() + " has CUDA devices as peers, not " + other.info().id());
  }

  /** Returns the id and the vendor's name, for messages. */
  String name() {
    return info.id() + " (" + info.name() + ")";
  }

  Context context() {
    return context;
  }

  DeviceProperties properties() {
    return properties;
  }

  EventPool events() {
    return events;
  }

  Compiler compiler() {
    return compiler;
  }

  ScatterKernel scatterKernel() {
    return scatterKernel;
  }

  StagedCopies stagedCopies() {
    return stagedCopies;
  }

  DeviceMemory blocks() {
    return memory;
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true) || Shutdown.hasBegun()) {
      return;
    }
    Closing.surviving(scatterKernel::close);
    Closing.surviving(
        () ->
            context.run(
                () -> {
                  events.close();
                  memory.close();
                }));
    Closing.surviving(context::release);
  }

  void requireOpen() {
    if (closed.get()) {
      throw new IllegalStateException(name() + " is used after its close");
    }
  }
}
