package dev.tidepool.opencl;

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
import dev.tidepool.spi.LaunchOrder;
import dev.tidepool.spi.NativeMemory;
import dev.tidepool.spi.NativeQueue;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.DriverCall;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * An opened OpenCL device. It holds the context of its platform, and one queue of its own for the
 * commands of allocations. Both are released with the device.
 */
final class OpenClDevice implements Device {
  private final DeviceInfo info;
  private final DeviceProperties properties;
  private final Platform platform;
  private final Context context;
  private final DeviceMemory memory;
  private final long service;
  private final ScatterKernel scatterKernel;
  private final AtomicBoolean closed = new AtomicBoolean();

  private OpenClDevice(
      String id,
      Platform platform,
      DeviceProperties properties,
      Context context,
      Settings settings) {
    this.platform = platform;
    this.properties = properties;
    this.context = context;
    this.memory = new DeviceMemory(id, properties, context, settings);
    this.scatterKernel = new ScatterKernel(this, properties.isCpu());
    this.info =
        new DeviceInfo(
            id,
            properties.name(),
            "OpenCL " + properties.versionName() + ", driver " + properties.driver(),
            kind(properties),
            capabilities(properties, memory),
            memory.largest(BlockKind.DEVICE));
    this.service = OpenCL.clCreateCommandQueue(context.handle(), properties.handle());
  }

  /** Opens a device that discovery found. */
  static OpenClDevice open(String id, Installed.Found found, Settings settings) {
    Context context = found.platform().hold(found.properties());
    try {
      return new OpenClDevice(id, found.platform(), found.properties(), context, settings);
    } catch (RuntimeException | Error failed) {
      Closing.surviving("clReleaseContext", () -> found.platform().letGo(context));
      throw failed;
    }
  }

  private static AcceleratorKind kind(DeviceProperties properties) {
    if (properties.isGpu()) {
      return AcceleratorKind.GPU;
    }
    return properties.isCpu() ? AcceleratorKind.CPU : AcceleratorKind.OTHER;
  }

  private static Set<Capability> capabilities(DeviceProperties properties, DeviceMemory memory) {
    Set<Capability> capabilities = EnumSet.of(Capability.OPENCL_KERNELS);
    if (memory.sharesHostMemory()) {
      capabilities.add(Capability.SHARED_MEMORY);
    } else {
      // If memory is shared, nothing is transferred, and pinned pages would gain nothing.
      capabilities.add(Capability.PINNED_MEMORY);
    }
    if (memory.sharing() != DeviceMemory.Sharing.NONE) {
      capabilities.add(Capability.UNIFIED_MEMORY);
    }
    if (properties.fp64()) {
      capabilities.add(Capability.FLOAT64);
    }
    if (properties.subnormals()) {
      capabilities.add(Capability.FLOAT_SUBNORMALS);
    }
    return capabilities;
  }

  @Override
  public DeviceInfo info() {
    return info;
  }

  @Override
  public MemoryInfo memory() {
    return memory.info();
  }

  @Override
  public long largestBlock(BlockKind kind) {
    return memory.largest(kind);
  }

  @Override
  public Block allocate(long bytes, long alignment, BlockKind kind) {
    requireOpen();
    return memory.allocate(bytes, alignment, kind, service);
  }

  @Override
  public boolean isPinned(MemorySegment hostBytes) {
    return memory.isPinned(hostBytes);
  }

  @Override
  public Queue createQueue() {
    requireOpen();
    return new OpenClQueue(
        this, OpenCL.clCreateCommandQueue(context.handle(), properties.handle()));
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
    if (block instanceof OpenClBlock own && own.context() == context) {
      own.requireLive();
      return LentMemory.of(this, own, offset, bytes, kind);
    }
    throw new IllegalArgumentException("the block is not of " + info.id());
  }

  @Override
  public Block adopt(NativeHandle handle, boolean written) {
    requireOpen();
    return ForeignMemory.adopt(memory, info.id(), handle, written);
  }

  @Override
  public NativeQueue foreignQueue(long handle) {
    requireOpen();
    return ForeignQueue.of(this, handle);
  }

  @Override
  public Program compile(KernelSource source, List<KernelParameter> parameters) {
    requireOpen();
    return switch (source) {
      case KernelSource.OpenCl written -> HandWrittenProgram.compile(this, written);
      case KernelSource.Elementwise elementwise ->
          ElementwiseProgram.compile(this, elementwise, parameters);
      case KernelSource.Method method -> MethodProgram.compile(this, method, parameters);
      case KernelSource.Cuda _,
          KernelSource.CudaImage _,
          KernelSource.Metal _,
          KernelSource.Java _ ->
          throw DriverCall.wrongLanguage(
              info.id(), "elementwise, Java method and OpenCL C", source);
    };
  }

  /**
   * A wait for another queue would fail with that queue's command, even if only the order matters.
   */
  @Override
  public LaunchOrder launchOrder() {
    return properties.runsKernelsAlone() ? LaunchOrder.HOST : LaunchOrder.IN_QUEUE;
  }

  @Override
  public boolean copiesFrom(Device other) {
    return other instanceof OpenClDevice opencl && opencl.context == context;
  }

  /** Returns the id and the vendor's name, for messages. */
  String name() {
    return info.id() + " (" + info.name() + ")";
  }

  Context context() {
    return context;
  }

  ScatterKernel scatterKernel() {
    return scatterKernel;
  }

  DeviceProperties properties() {
    return properties;
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true) || Shutdown.hasBegun()) {
      return;
    }
    Closing.surviving("clReleaseKernel", scatterKernel);
    Closing.surviving("clReleaseCommandQueue", () -> OpenCL.clReleaseCommandQueue(service));
    Closing.surviving("clReleaseContext", () -> platform.letGo(context));
  }

  private void requireOpen() {
    if (closed.get()) {
      throw new IllegalStateException(info.id() + " (" + info.name() + ") is used after its close");
    }
  }
}
