package dev.tidepool.opencl;

import dev.tidepool.spi.HostAccess;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Shared virtual memory: one pointer for host and device. The host may access fine-grained memory
 * whenever the device does not use it. Coarse-grained memory must be mapped while the host uses it.
 */
final class SharedPointerBlock extends OpenClBlock {
  private final SvmFunctions svm;
  private final @Nullable MemorySegment allocation;
  private final MemorySegment memory;
  private final boolean fine;

  /**
   * Creates a block within an allocation that it frees.
   *
   * @param allocation the driver's allocation; null if other code frees it
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

  /** Returns a part for the driver, without a scope. */
  MemorySegment bytes(long offset, long count) {
    return memory.asSlice(offset, count);
  }

  @Override
  void release() {
    if (allocation != null) {
      svm.clSVMFree(context().handle(), allocation);
    }
  }
}
