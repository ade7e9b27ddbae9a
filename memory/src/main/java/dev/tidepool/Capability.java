package dev.tidepool;

/** An ability of an accelerator beyond the minimum. */
public enum Capability {
  /**
   * The accelerator uses the host's memory: buffers have one copy and no transfers. External memory
   * (wrapped, mapped from a file, shared by name) is copied nevertheless, except on the CPU:
   * elsewhere a kernel may run after its call has returned, and external memory could be freed by
   * then.
   */
  SHARED_MEMORY,
  /** The accelerator supports {@link MemoryLocation#UNIFIED}. */
  UNIFIED_MEMORY,
  /** The accelerator provides page-locked host memory for {@link MemoryLocation#PINNED}. */
  PINNED_MEMORY,
  /** The accelerator computes in 64-bit floating point. */
  FLOAT64,
  /** The accelerator runs {@link KernelSource#opencl} sources. */
  OPENCL_KERNELS,
  /** The accelerator runs {@link KernelSource#cuda} sources. */
  CUDA_KERNELS,
  /** The accelerator runs {@link KernelSource#metal} sources. */
  METAL_KERNELS,
  /**
   * The accelerator computes with subnormal floats, the numbers nearest to 0. Others may treat them
   * as 0.
   */
  FLOAT_SUBNORMALS,
  /** The accelerator runs {@link KernelSource#java} sources. */
  JAVA_KERNELS
}
