package dev.tidepool.opencl;

import dev.tidepool.AcceleratorException;
import dev.tidepool.MemoryInfo;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.host.system.LibC;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.EventWait;
import dev.tidepool.spi.PinnedRanges;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.Closing;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * The memory of a device. This class chooses OpenCL's way to allocate each kind of block, and
 * counts the allocated bytes, because OpenCL does not report how much memory is free. What other
 * processes and the driver itself use is unknown.
 *
 * <p>Thread-safe; holds no lock but that of {@link SerialCommands}.
 */
final class DeviceMemory {
  /** Drivers require 4 KiB even if the system's pages are smaller. */
  private static final long PAGE = Math.max(4096, LibC.pageSize().orElse(4096));

  /** How this device allocates memory that the host also accesses. */
  enum Sharing {
    /** Fine-grained shared virtual memory. */
    FINE_POINTER,
    /** Coarse-grained shared virtual memory. */
    COARSE_POINTER,
    /** Buffers over host memory, which a device that shares that memory uses in place. */
    HOST_BUFFER,
    /** Not at all. */
    NONE
  }

  private final String id;
  private final DeviceProperties device;
  private final Context context;
  private final boolean sharesHostMemory;
  private final Sharing sharing;
  private final AtomicLong allocated = new AtomicLong();
  private final PinnedRanges pinned = new PinnedRanges();

  DeviceMemory(String id, DeviceProperties device, Context context, Settings settings) {
    this.id = id;
    this.device = device;
    this.context = context;
    this.sharesHostMemory = settings.sharedMemory() && (device.hostUnified() || device.isCpu());
    this.sharing = sharing(device, settings, sharesHostMemory);
  }

  private static Sharing sharing(DeviceProperties device, Settings settings, boolean shared) {
    boolean functions = SvmFunctions.find().isPresent();
    boolean fine = functions && device.hasFineSvm();
    boolean coarse = functions && device.hasCoarseSvm();
    Settings.Svm wanted = settings.svm();
    if (fine && (wanted == Settings.Svm.AUTO || wanted == Settings.Svm.FINE)) {
      return Sharing.FINE_POINTER;
    }
    if (coarse && (wanted == Settings.Svm.AUTO || wanted == Settings.Svm.COARSE)) {
      return Sharing.COARSE_POINTER;
    }
    return shared ? Sharing.HOST_BUFFER : Sharing.NONE;
  }

  Context context() {
    return context;
  }

  boolean sharesHostMemory() {
    return sharesHostMemory;
  }

  Sharing sharing() {
    return sharing;
  }

  MemoryInfo info() {
    long total = device.globalMemory();
    return new MemoryInfo(total, Math.max(0, total - allocated.get()), true);
  }

  /**
   * Returns the bytes of the largest block of a kind with the alignment of large blocks. Shared
   * pointers need room in their allocation for that alignment.
   */
  long largest(BlockKind kind) {
    boolean isPointer =
        (kind != BlockKind.DEVICE || sharesHostMemory)
            && (sharing == Sharing.FINE_POINTER || sharing == Sharing.COARSE_POINTER);
    return device.maxAllocation() - (isPointer ? spare(MemoryAllocator.LARGE_ALIGNMENT) : 0);
  }

  /**
   * Returns the extra bytes for an alignment. Drivers align to their largest vector type at most;
   * for more, a larger block has room.
   */
  private long spare(long alignment) {
    return alignment > device.baseAlignment() ? alignment : 0;
  }

  /**
   * Allocates a block.
   *
   * @param service a queue for the commands that make the driver allocate now instead of at first
   *     use
   */
  Block allocate(long bytes, long alignment, BlockKind kind, long service) {
    if (bytes < 1 || Long.bitCount(alignment) != 1) {
      throw new IllegalArgumentException(
          "a block of " + bytes + " bytes aligned to " + alignment + " cannot be");
    }
    try {
      return allocated(bytes, alignment, kind, service);
    } catch (AcceleratorException refused) {
      throw ErrorCodes.isOutOfMemory(refused.code())
          ? outOfMemory(bytes, refused.call() + " answered " + refused.codeName())
          : refused;
    }
  }

  private Block allocated(long bytes, long alignment, BlockKind kind, long service) {
    if (kind == BlockKind.PINNED) {
      return pinned(bytes, alignment, service);
    }
    requireFits(bytes, largest(kind));
    if (kind == BlockKind.DEVICE && !sharesHostMemory) {
      return ofDevice(bytes, alignment, service);
    }
    return switch (sharing) {
      case FINE_POINTER -> sharedPointer(bytes, alignment, true);
      case COARSE_POINTER -> sharedPointer(bytes, alignment, false);
      case HOST_BUFFER -> overHostMemory(bytes, alignment);
      case NONE ->
          throw new UnsupportedOperationException(
              id
                  + " ("
                  + device.name()
                  + ") has neither shared virtual memory nor the host's memory; allocate DEVICE"
                  + " instead of UNIFIED");
    };
  }

  /**
   * Returns a block for a buffer object of other code, which is retained until the block is freed.
   */
  BufferBlock adopt(long buffer, long bytes) {
    long whole = OpenCL.clGetMemObjectWhole(buffer);
    long start = whole == 0 ? 0 : OpenCL.clGetMemObjectOffset(buffer);
    BufferBlock block = new BufferBlock(this, bytes, buffer, whole == 0 ? buffer : whole, start);
    OpenCL.clRetainMemObject(buffer);
    return counted(block);
  }

  /**
   * Returns a block for shared virtual memory of other code. OpenCL does not report its kind, so
   * the host maps it, which is right for coarse-grained memory and for fine-grained.
   */
  SharedPointerBlock adopt(MemorySegment memory) {
    SvmFunctions svm =
        SvmFunctions.find()
            .filter(functions -> device.hasFineSvm() || device.hasCoarseSvm())
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        id + " has no shared virtual memory; adopt an OPENCL_BUFFER"));
    return counted(SharedPointerBlock.adopted(this, svm, memory));
  }

  void forget(OpenClBlock block) {
    allocated.addAndGet(-block.byteSize());
  }

  /** Returns whether bytes of the host are in memory that the driver allocated for its copies. */
  boolean isPinned(MemorySegment hostBytes) {
    return pinned.contain(hostBytes);
  }

  private <B extends OpenClBlock> B counted(B block) {
    allocated.addAndGet(block.byteSize());
    return block;
  }

  private void requireFits(long bytes, long most) {
    if (bytes > most) {
      throw outOfMemory(
          bytes,
          "the device allows at most "
              + most
              + " bytes in one block; use several buffers, or stream in chunks");
    }
  }

  private OutOfDeviceMemoryException outOfMemory(long bytes, String why) {
    MemoryInfo now = info();
    return new OutOfDeviceMemoryException(
        id
            + " ("
            + device.name()
            + ") cannot allocate "
            + bytes
            + " bytes: "
            + why
            + " (about "
            + now.freeBytes()
            + " of "
            + now.totalBytes()
            + " bytes are free)",
        bytes,
        now.freeBytes(),
        now.totalBytes(),
        -1);
  }

  private long createBuffer(long flags, long bytes, MemorySegment hostPointer) {
    return OpenCL.clCreateBuffer(context.handle(), flags, bytes, hostPointer);
  }

  /** Creates a block of a buffer object; releases the object if that fails. */
  private <B extends OpenClBlock> B blockOf(long buffer, Supplier<B> steps) {
    try {
      return counted(steps.get());
    } catch (RuntimeException | Error failed) {
      Closing.surviving("clReleaseMemObject", () -> OpenCL.clReleaseMemObject(buffer));
      throw failed;
    }
  }

  private BufferBlock ofDevice(long bytes, long alignment, long service) {
    if (alignment > device.baseAlignment()) {
      throw new UnsupportedOperationException(
          id
              + " ("
              + device.name()
              + ") aligns its memory to "
              + device.baseAlignment()
              + " bytes and no more; "
              + alignment
              + " were asked for");
    }
    long buffer = createBuffer(OpenCL.CL_MEM_READ_WRITE, bytes, MemorySegment.NULL);
    return blockOf(
        buffer,
        () -> {
          // Most drivers allocate at first use; an error must occur here, where the caller can
          // still react.
          SerialCommands.of(
              device, () -> waitFor(OpenCL.clEnqueueMigrateMemObject(service, buffer)));
          return new BufferBlock(this, bytes, buffer);
        });
  }

  private SharedPointerBlock sharedPointer(long bytes, long alignment, boolean fine) {
    SvmFunctions svm = SvmFunctions.find().orElseThrow();
    long flags = OpenCL.CL_MEM_READ_WRITE | (fine ? SvmFunctions.CL_MEM_SVM_FINE_GRAIN_BUFFER : 0);
    long spare = spare(alignment);
    requireFits(bytes, device.maxAllocation() - spare);
    Optional<MemorySegment> allocation = svm.clSVMAlloc(context.handle(), flags, bytes + spare);
    if (allocation.isEmpty()) {
      throw outOfMemory(bytes, "clSVMAlloc answered NULL");
    }
    MemorySegment whole = allocation.get();
    try {
      MemorySegment memory = aligned(whole, bytes, alignment);
      return counted(new SharedPointerBlock(this, svm, whole, memory, fine));
    } catch (RuntimeException | Error failed) {
      Closing.surviving("clSVMFree", () -> svm.clSVMFree(context.handle(), whole));
      throw failed;
    }
  }

  private BufferBlock overHostMemory(long bytes, long alignment) {
    Arena arena = Arena.ofShared();
    try {
      MemorySegment memory = hostMemory(arena, bytes, alignment);
      long buffer =
          createBuffer(OpenCL.CL_MEM_READ_WRITE | OpenCL.CL_MEM_USE_HOST_PTR, bytes, memory);
      return blockOf(buffer, () -> new BufferBlock(this, memory, arena, buffer));
    } catch (RuntimeException | Error failed) {
      arena.close();
      throw failed;
    }
  }

  /** Allocates page-aligned memory in whole pages, as drivers require for use in place. */
  private MemorySegment hostMemory(Arena arena, long bytes, long alignment) {
    long whole = (bytes + PAGE - 1) / PAGE * PAGE;
    try {
      MemorySegment pages = arena.allocate(whole, Math.max(alignment, PAGE));
      return MemorySegment.ofAddress(pages.address()).reinterpret(bytes);
    } catch (OutOfMemoryError none) {
      throw outOfMemory(bytes, "the host's memory is exhausted");
    }
  }

  /**
   * Returns a buffer that the driver allocates in host memory and that stays mapped: the portable
   * way to memory from which the driver copies at full speed. A block that is too large for one
   * buffer is plain memory.
   */
  private PinnedBlock pinned(long bytes, long alignment, long service) {
    long spare = spare(alignment);
    if (bytes + spare > device.maxAllocation()) {
      Arena arena = Arena.ofShared();
      try {
        return counted(new PinnedBlock(this, hostMemory(arena, bytes, alignment), arena::close));
      } catch (RuntimeException | Error failed) {
        arena.close();
        throw failed;
      }
    }
    long buffer =
        createBuffer(
            OpenCL.CL_MEM_READ_WRITE | OpenCL.CL_MEM_ALLOC_HOST_PTR,
            bytes + spare,
            MemorySegment.NULL);
    return blockOf(
        buffer,
        () -> {
          MemorySegment memory =
              SerialCommands.of(device, () -> mapped(service, buffer, bytes + spare));
          PinnedBlock block =
              new PinnedBlock(
                  this,
                  aligned(memory, bytes, alignment),
                  () -> unmapAndRelease(service, buffer, memory));
          pinned.add(memory.address(), memory.byteSize());
          return block;
        });
  }

  private MemorySegment mapped(long service, long buffer, long bytes) {
    OpenCL.Mapping mapping =
        OpenCL.clEnqueueMapBuffer(service, buffer, OpenCL.CL_MAP_READ | OpenCL.CL_MAP_WRITE, bytes);
    waitFor(mapping.event());
    return mapping.memory();
  }

  private void unmapAndRelease(long service, long buffer, MemorySegment mapped) {
    pinned.remove(mapped.address());
    if (Shutdown.hasBegun()) {
      return;
    }
    try {
      SerialCommands.of(
          device, () -> waitFor(OpenCL.clEnqueueUnmapMemObject(service, buffer, mapped)));
    } finally {
      OpenCL.clReleaseMemObject(buffer);
    }
  }

  private static MemorySegment aligned(MemorySegment memory, long bytes, long alignment) {
    long start = (memory.address() + alignment - 1) / alignment * alignment;
    return memory.asSlice(start - memory.address(), bytes);
  }

  private void waitFor(long event) {
    try (OpenClEvent done = new OpenClEvent(context, event)) {
      EventWait.untilEnded(done);
    }
  }
}
