package dev.tidepool;

/** What a {@link NativeHandle} refers to. */
public enum NativeKind {
  /** An address in the memory of this process. */
  HOST_POINTER(true),
  /** A {@code CUdeviceptr}: an address of a CUDA device or of managed memory. */
  CUDA_POINTER(true),
  /** A {@code cl_mem}. */
  OPENCL_BUFFER(false),
  /** An address in the shared virtual memory of an OpenCL context. */
  OPENCL_SVM(true),
  /** An {@code id<MTLBuffer>}. */
  METAL_BUFFER(false);

  private final boolean pointer;

  NativeKind(boolean pointer) {
    this.pointer = pointer;
  }

  /** Returns whether handles of this kind are addresses, to which offsets can be added. */
  public boolean isPointer() {
    return pointer;
  }
}
