package dev.tidepool.metal;

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

/** An opened device, which holds the {@code id<MTLDevice>} until its close. */
final class MetalDevice implements Device {
  private final DeviceInfo info;
  private final DeviceProperties properties;
  private final DeviceMemory memory;
  private final ByteKernels bytes = new ByteKernels(this);
  private final FailureWatch failureWatch;
  private final AtomicBoolean closed = new AtomicBoolean();

  private MetalDevice(String id, DeviceProperties properties, String system, Settings settings) {
    this.properties = properties;
    this.memory = new DeviceMemory(id + " (" + properties.name() + ")", properties, settings);
    this.failureWatch = new FailureWatch(id);
    this.info =
        new DeviceInfo(
            id,
            properties.name(),
            "Metal, " + system,
            AcceleratorKind.GPU,
            capabilities(memory),
            properties.maxBuffer());
  }

  /**
   * Opens a device that discovery found.
   *
   * @param handle its handle, which the device then owns
   */
  static MetalDevice open(String id, long handle, String system, Settings settings) {
    return new MetalDevice(id, DeviceProperties.of(handle), system, settings);
  }

  private static Set<Capability> capabilities(DeviceMemory memory) {
    Set<Capability> capabilities = EnumSet.of(Capability.UNIFIED_MEMORY, Capability.METAL_KERNELS);
    // If memory is shared, nothing is transferred, and pinned pages would gain nothing.
    capabilities.add(memory.isShared() ? Capability.SHARED_MEMORY : Capability.PINNED_MEMORY);
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
  public Block allocate(long bytes, long alignment, BlockKind kind) {
    requireOpen();
    return memory.allocate(bytes, alignment, kind);
  }

  /** Commands access memory of the host only in the device's buffers. */
  @Override
  public boolean prefersStaging(MemorySegment hostBytes) {
    return !isPinned(hostBytes);
  }

  @Override
  public boolean isPinned(MemorySegment hostBytes) {
    return memory.hostBuffers().find(hostBytes) != null;
  }

  @Override
  public Queue createQueue() {
    requireOpen();
    var _ = memory.reserve();
    return new MetalQueue(this);
  }

  @Override
  public LaunchOrder launchOrder() {
    return LaunchOrder.ACROSS_QUEUES;
  }

  @Override
  public boolean lendsBlocks() {
    return true;
  }

  @Override
  public long contextHandle() {
    return properties.handle();
  }

  @Override
  public long deviceHandle() {
    return properties.handle();
  }

  @Override
  public NativeMemory lend(Block block, long offset, long bytes, @Nullable NativeKind kind) {
    if (!(block instanceof MetalBlock own) || !reaches(own)) {
      throw new IllegalArgumentException("the block is not of " + name());
    }
    if (kind != null && kind != NativeKind.METAL_BUFFER) {
      throw new UnsupportedOperationException(name() + " lends METAL_BUFFER and not " + kind);
    }
    return NativeMemory.of(
        new NativeHandle(NativeKind.METAL_BUFFER, own.buffer(), own.at(offset), bytes));
  }

  @Override
  public @Nullable Block adoptLasting(MemorySegment memory) {
    requireOpen();
    return this.memory.over(memory);
  }

  @Override
  public Block adopt(NativeHandle handle, boolean written) {
    requireOpen();
    return ForeignMemory.adopt(this, handle);
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
      case KernelSource.Elementwise elementwise ->
          ElementwiseProgram.compile(this, elementwise, parameters);
      case KernelSource.Method method -> MethodProgram.compile(this, method, parameters);
      case KernelSource.Metal metal -> HandWrittenProgram.compile(this, metal);
      case KernelSource.OpenCl _,
          KernelSource.Cuda _,
          KernelSource.CudaImage _,
          KernelSource.Java _ ->
          throw DriverCall.wrongLanguage(info.id(), "elementwise, Java method and Metal", source);
    };
  }

  @Override
  public boolean copiesFrom(Device other) {
    return other instanceof MetalDevice metal && metal.handle() == handle();
  }

  /** Returns whether commands of this device reach a block. */
  boolean reaches(MetalBlock block) {
    return block.owner().device() == handle();
  }

  /** Returns the id and the vendor's name, for messages. */
  String name() {
    return info.id() + " (" + info.name() + ")";
  }

  long handle() {
    return properties.handle();
  }

  DeviceProperties properties() {
    return properties;
  }

  DeviceMemory blocks() {
    return memory;
  }

  ByteKernels bytes() {
    return bytes;
  }

  FailureWatch failureWatch() {
    return failureWatch;
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true) || Shutdown.hasBegun()) {
      return;
    }
    Closing.surviving("the watch of commands", failureWatch);
    Closing.surviving("release", bytes);
    Closing.surviving("release", memory::close);
    Closing.surviving("release", () -> NativeCall.release(ObjectKind.DEVICE, handle()));
  }

  private void requireOpen() {
    if (closed.get()) {
      throw new IllegalStateException(name() + " is used after its close");
    }
  }
}
