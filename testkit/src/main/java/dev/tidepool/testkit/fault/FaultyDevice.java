package dev.tidepool.testkit.fault;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryInfo;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.DeviceInfo;
import dev.tidepool.spi.DeviceSharing;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.LaunchOrder;
import dev.tidepool.spi.NativeMemory;
import dev.tidepool.spi.NativeQueue;
import dev.tidepool.spi.Placement;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.SharedBlock;
import dev.tidepool.testkit.SpiCall;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** A device whose calls can be made to fail. */
final class FaultyDevice implements Device {
  private final FaultInjector faults;
  private final Device device;
  private volatile boolean lost;

  FaultyDevice(FaultInjector faults, Device device) {
    this.faults = faults;
    this.device = device;
  }

  /** Memory of a device whose calls may fail. */
  record FaultyBlock(FaultyDevice owner, Block block) implements Block {
    @Override
    public long byteSize() {
      return block.byteSize();
    }

    @Override
    public HostAccess hostAccess() {
      return block.hostAccess();
    }

    @Override
    public @Nullable MemorySegment segment() {
      return block.segment();
    }

    /** Frees the memory before it fails: a block whose free fails counts as freed. */
    @Override
    public void free() {
      Failure failure = owner.next(SpiCall.FREE);
      block.free();
      owner.throwIf(failure, SpiCall.FREE);
    }
  }

  /** Code of a device whose calls may fail. */
  record FaultyProgram(FaultyDevice owner, Program program) implements Program {
    @Override
    public boolean reportsFaults() {
      return program.reportsFaults();
    }

    @Override
    public void close() {
      owner.next(SpiCall.CLOSE_PROGRAM);
      program.close();
    }
  }

  /** Access to shared memory of a device whose calls may fail. */
  private record FaultySharing(FaultyDevice owner, DeviceSharing sharing) implements DeviceSharing {
    @Override
    public SharedBlock create(Path folder, String name, ElementType<?> type, long length) {
      owner.checkAllocation(type.bytes(length));
      return new FaultySharedBlock(owner, sharing.create(folder, name, type, length));
    }

    @Override
    public SharedBlock open(Path folder, String name, ElementType<?> type, Runnable whileWaiting) {
      return new FaultySharedBlock(owner, sharing.open(folder, name, type, whileWaiting));
    }
  }

  /** One use of shared memory of a device whose calls may fail. */
  private record FaultySharedBlock(FaultyDevice owner, SharedBlock shared) implements SharedBlock {
    @Override
    public Block block() {
      return new FaultyBlock(owner, shared.block());
    }

    @Override
    public long length() {
      return shared.length();
    }

    @Override
    public void close() {
      owner.next(SpiCall.FREE);
      shared.close();
    }
  }

  /** Counts a call and returns how it fails; on a lost device all calls fail that may. */
  @Nullable Failure next(SpiCall call) {
    faults.pass(call);
    // One step, so that every call after the one that loses the device fails.
    synchronized (faults) {
      Failure failure = faults.next(call);
      if (failure == Failure.DEVICE_LOST) {
        lost = true;
      }
      return lost && call.mayFail() ? Failure.DEVICE_LOST : failure;
    }
  }

  void throwIf(@Nullable Failure failure, SpiCall call) {
    if (failure != null && failure != Failure.DAMAGED) {
      throw FaultInjector.thrown(failure, call);
    }
  }

  void check(SpiCall call) {
    throwIf(next(call), call);
  }

  boolean isLost() {
    return lost;
  }

  @Override
  public DeviceInfo info() {
    return device.info();
  }

  @Override
  public MemoryInfo memory() {
    return device.memory();
  }

  @Override
  public long largestBlock(BlockKind kind) {
    return device.largestBlock(kind);
  }

  @Override
  public OptionalInt numaNode() {
    return device.numaNode();
  }

  @Override
  public Block allocate(long bytes, long alignment, BlockKind kind) {
    return allocate(bytes, alignment, kind, Placement.ANYWHERE);
  }

  @Override
  public Block allocate(long bytes, long alignment, BlockKind kind, Placement placement) {
    checkAllocation(bytes);
    return new FaultyBlock(this, device.allocate(bytes, alignment, kind, placement));
  }

  private void checkAllocation(long bytes) {
    Failure failure = next(SpiCall.ALLOCATE);
    if (failure != null && failure != Failure.DEVICE_LOST && failure != Failure.DAMAGED) {
      MemoryInfo memory = device.memory();
      throw new OutOfDeviceMemoryException(
          "allocation of " + bytes + " bytes was chosen to fail",
          bytes,
          memory.freeBytes(),
          memory.totalBytes(),
          -1);
    }
    throwIf(failure, SpiCall.ALLOCATE);
  }

  @Override
  public Optional<DeviceSharing> sharing() {
    return device.sharing().map(bare -> new FaultySharing(this, bare));
  }

  @Override
  public @Nullable Block adopt(MemorySegment memory) {
    Block block = device.adopt(memory);
    return block == null ? null : new FaultyBlock(this, block);
  }

  @Override
  public @Nullable Block adoptLasting(MemorySegment memory) {
    Block block = device.adoptLasting(memory);
    return block == null ? null : new FaultyBlock(this, block);
  }

  @Override
  public Block adopt(NativeHandle memory, boolean written) {
    check(SpiCall.ADOPT);
    return new FaultyBlock(this, device.adopt(memory, written));
  }

  @Override
  public void awaitForeign(long event) {
    check(SpiCall.EVENT_AWAIT);
    device.awaitForeign(event);
  }

  @Override
  public Queue createQueue() {
    check(SpiCall.CREATE_QUEUE);
    return new FaultyQueue(this, device.createQueue());
  }

  @Override
  public Queue createUrgentQueue() {
    check(SpiCall.CREATE_QUEUE);
    return new FaultyQueue(this, device.createUrgentQueue());
  }

  @Override
  public LaunchOrder launchOrder() {
    return device.launchOrder();
  }

  @Override
  public boolean prefersStaging(MemorySegment hostBytes) {
    return device.prefersStaging(hostBytes);
  }

  @Override
  public boolean isPinned(MemorySegment hostBytes) {
    return device.isPinned(hostBytes);
  }

  @Override
  public @Nullable Runnable lock(MemorySegment hostBytes) {
    return device.lock(hostBytes);
  }

  @Override
  public boolean lendsBlocks() {
    return device.lendsBlocks();
  }

  @Override
  public long contextHandle() {
    return device.contextHandle();
  }

  @Override
  public long deviceHandle() {
    return device.deviceHandle();
  }

  @Override
  public NativeMemory lend(Block block, long offset, long bytes, @Nullable NativeKind kind) {
    check(SpiCall.LEND);
    Block bare = block instanceof FaultyBlock faulty ? faulty.block() : block;
    return device.lend(bare, offset, bytes, kind);
  }

  @Override
  public NativeQueue foreignQueue(long handle) {
    check(SpiCall.CREATE_QUEUE);
    return new FaultyForeignQueue(this, device.foreignQueue(handle));
  }

  @Override
  public Program compile(KernelSource source, List<KernelParameter> parameters) {
    check(SpiCall.COMPILE);
    return new FaultyProgram(this, device.compile(source, parameters));
  }

  @Override
  public boolean copiesFrom(Device other) {
    return device.copiesFrom(bare(other));
  }

  @Override
  public boolean copiesDirectlyFrom(Device other) {
    return device.copiesDirectlyFrom(bare(other));
  }

  @Override
  public void enablePeer(Device other) {
    check(SpiCall.ENABLE_PEER);
    device.enablePeer(bare(other));
  }

  @Override
  public void disablePeer(Device other) {
    check(SpiCall.DISABLE_PEER);
    device.disablePeer(bare(other));
  }

  private static Device bare(Device other) {
    return other instanceof FaultyDevice faulty ? faulty.device : other;
  }

  @Override
  public void close() {
    next(SpiCall.CLOSE_DEVICE);
    device.close();
  }
}
