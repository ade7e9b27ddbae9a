package dev.tidepool;

/** What an accelerator can do beyond the minimum. */
public enum Capability {
  /**
   * Its memory is the host's: buffers have one copy and no transfer ever happens. Memory that is
   * not the library's (wrapped, mapped from a file, shared by name) is copied all the same, except
   * on the CPU: elsewhere a kernel may run after its call has returned, when nothing keeps that
   * memory from ending.
   */
  SHARED_MEMORY,
  /** It serves {@link MemoryLocation#UNIFIED}. */
  UNIFIED_MEMORY,
  /** It gives page-locked host memory for {@link MemoryLocation#PINNED}. */
  PINNED_MEMORY,
  /** It computes in 64-bit floating point. */
  FLOAT64,
  /** It runs {@link KernelSource#opencl} sources. */
  OPENCL_KERNELS,
  /** It runs {@link KernelSource#cuda} sources. */
  CUDA_KERNELS,
  /** It runs {@link KernelSource#metal} sources. */
  METAL_KERNELS,
  /**
   * It computes with subnormal floats, those nearest to 0. Others may read them as 0, and return 0
   * in their place.
   */
  FLOAT_SUBNORMALS,
  /** It runs {@link KernelSource#java} sources. */
  JAVA_KERNELS
}
