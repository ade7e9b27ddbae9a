package dev.tidepool.cpu;

import dev.tidepool.AcceleratorKind;
import dev.tidepool.Capability;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryInfo;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.host.HostMemory;
import dev.tidepool.host.HostPlatform;
import dev.tidepool.host.HostRequest;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.host.PinnedBudget;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceInfo;
import dev.tidepool.spi.Placement;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.support.DriverCall;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** The host's own processor. Blocks are ordinary memory of the host. */
public final class CpuDevice implements Device {
  private final MemoryAllocator allocator = new MemoryAllocator();
  // The runtime keeps the budget of all managers, so every request that reaches this device passes.
  private final PinnedBudget granted = new PinnedBudget(Long.MAX_VALUE);
  private final DeviceInfo info;

  /** Creates the device of this process. */
  public CpuDevice() {
    Set<Capability> capabilities =
        EnumSet.of(
            Capability.SHARED_MEMORY,
            Capability.UNIFIED_MEMORY,
            Capability.FLOAT64,
            Capability.FLOAT_SUBNORMALS,
            Capability.JAVA_KERNELS);
    if (HostPlatform.mayLockPages()) {
      capabilities.add(Capability.PINNED_MEMORY);
    }
    info =
        new DeviceInfo(
            "cpu:0",
            HostPlatform.processorName().orElse(System.getProperty("os.arch")),
            "Java " + Runtime.version().feature() + ", " + CpuThreads.THREADS + " threads",
            AcceleratorKind.CPU,
            capabilities,
            HostMemory.now().totalBytes());
  }

  /**
   * Runs work whose kernels on the CPU stay on the calling thread. For callers that keep every
   * processor busy themselves: other threads could not help with a kernel.
   */
  public static void computeAlone(Runnable work) {
    CpuThreads.alone(work);
  }

  /**
   * Runs work for all items on the threads of kernels, including the calling one. Returns when all
   * is done. A thread takes {@code grain} items at a time; if there is only one thread, it takes
   * all.
   *
   * @throws RuntimeException the exception of the first piece that failed
   */
  public static void spread(long items, long grain, RangeTask work) {
    CpuThreads.spread(items, grain, work);
  }

  @Override
  public DeviceInfo info() {
    return info;
  }

  @Override
  public MemoryInfo memory() {
    return HostMemory.now();
  }

  @Override
  public Block allocate(long bytes, long alignment, BlockKind kind) {
    return allocate(bytes, alignment, kind, Placement.ANYWHERE);
  }

  @Override
  public Block allocate(long bytes, long alignment, BlockKind kind, Placement placement) {
    HostRequest request = HostRequest.of(bytes).aligned(alignment).placed(placement);
    if (kind != BlockKind.PINNED) {
      return allocator.allocate(request);
    }
    if (!info.can(Capability.PINNED_MEMORY)) {
      throw new UnsupportedOperationException(
          "this system locks no pages; ask for plain memory of " + info.id());
    }
    return allocator.tryAllocateLocked(request, granted).orElseThrow(() -> notLocked(bytes));
  }

  private static OutOfDeviceMemoryException notLocked(long bytes) {
    MemoryInfo memory = HostMemory.now();
    return new OutOfDeviceMemoryException(
        "the operating system did not lock "
            + bytes
            + " bytes; raise its limit (ulimit -l), or do without pinned memory",
        bytes,
        memory.freeBytes(),
        memory.totalBytes(),
        -1);
  }

  @Override
  public Block adopt(MemorySegment memory) {
    return new AdoptedBlock(memory);
  }

  @Override
  public Queue createQueue() {
    return new CpuQueue();
  }

  @Override
  public Program compile(KernelSource source, List<KernelParameter> parameters) {
    if (source instanceof KernelSource.Elementwise elementwise) {
      Expression expression = Expression.parse(elementwise.expression());
      return new ElementwiseProgram(expression.resolve(parameters), parameters);
    }
    if (source instanceof KernelSource.Java java) {
      return new JavaProgram(java.body(), parameters);
    }
    if (source instanceof KernelSource.Method method) {
      return new MethodProgram(method, parameters);
    }
    throw DriverCall.wrongLanguage("cpu:0", "elementwise, Java method and Java", source);
  }

  @Override
  public boolean copiesFrom(Device other) {
    return other instanceof CpuDevice;
  }

  /** Does nothing: the owners of blocks free them. */
  @Override
  public void close() {}
}
