package dev.tidepool.opencl;

import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Shared virtual memory: one pointer for host and device. Fine-grained memory is the host's
 * whenever the device is not using it, coarse-grained memory has to be mapped for the host's turns.
 */
final class SharedPointerBlock extends OpenClBlock {
  private final SvmFunctions svm;
  private final @Nullable MemorySegment allocation;
  private final MemorySegment memory;
  private final boolean fine;

  /**
   * Creates a block within an allocation that it frees.
   *
   * @param allocation what the driver gave; null if it is other code that frees it
   * @param memory the aligned part of it that is the block
   */
  SharedPointerBlock(
      DeviceMemory owner,
      SvmFunctions svm,
      @Nullable MemorySegment allocation,
      MemorySegment memory,
      boolean fine) {
    super(owner, memory.byteSize(), memory);
    this.svm = svm;
    this.allocation = allocation;
    this.memory = memory;
    this.fine = fine;
  }

  /** Returns a block over memory of other code. The memory may be coarse-grained. */
  static SharedPointerBlock adopted(DeviceMemory owner, SvmFunctions svm, MemorySegment memory) {
    return new SharedPointerBlock(owner, svm, null, memory, false);
  }

  @Override
  public HostAccess hostAccess() {
    return fine ? HostAccess.DIRECT : HostAccess.MAPPED;
  }

  SvmFunctions svm() {
    return svm;
  }

  long address() {
    return memory.address();
  }

  /** Bytes of it for the driver, without a scope. */
  MemorySegment bytes(long offset, long count) {
    return memory.asSlice(offset, count);
  }

  /**
   * Returns a buffer object over the same bytes, for copies from and to buffer objects. The caller
   * releases it as soon as its commands are enqueued.
   */
  long asBuffer() {
    return OpenCL.clCreateBuffer(
        context().handle(),
        OpenCL.CL_MEM_READ_WRITE | OpenCL.CL_MEM_USE_HOST_PTR,
        memory.byteSize(),
        memory);
  }

  @Override
  void release() {
    if (allocation != null) {
      svm.clSVMFree(context().handle(), allocation);
    }
  }
}
