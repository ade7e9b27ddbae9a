package dev.tidepool.opencl;

import dev.tidepool.NativeHandle;
import java.lang.foreign.MemorySegment;

/** Checks of memory that code outside of Tidepool allocated, before commands use it. */
final class ForeignMemory {
  private static final long HOST_RESTRICTED =
      OpenCL.CL_MEM_HOST_WRITE_ONLY | OpenCL.CL_MEM_HOST_READ_ONLY | OpenCL.CL_MEM_HOST_NO_ACCESS;

  private ForeignMemory() {}

  /**
   * Returns a block over memory of the device's context; freeing the block does not free the
   * memory.
   *
   * @param handle a handle whose memory begins at offset 0
   * @throws IllegalArgumentException if the memory is of another context, is no plain buffer, is
   *     smaller than the handle says, or if commands may not use it in that way
   */
  static OpenClBlock adopt(DeviceMemory owner, String id, NativeHandle handle, boolean written) {
    return switch (handle.kind()) {
      case OPENCL_BUFFER -> {
        check(owner.context(), id, handle, written);
        yield owner.adopt(handle.value(), handle.byteSize());
      }
      case OPENCL_SVM ->
          owner.adopt(MemorySegment.ofAddress(handle.address()).reinterpret(handle.byteSize()));
      case HOST_POINTER, CUDA_POINTER, METAL_BUFFER ->
          throw new IllegalArgumentException(
              id
                  + " has memory of kinds OPENCL_BUFFER and OPENCL_SVM, and this is "
                  + handle.kind()
                  + "; copy it to the host, and adopt that as HOST_POINTER");
    };
  }

  private static void check(Context context, String id, NativeHandle handle, boolean written) {
    long buffer = handle.value();
    if (OpenCL.clGetMemObjectContext(buffer) != context.handle()) {
      throw new IllegalArgumentException(
          "the cl_mem is of another context than that of "
              + id
              + "; create it with NativeAccess.context()");
    }
    if (OpenCL.clGetMemObjectType(buffer) != OpenCL.CL_MEM_OBJECT_BUFFER) {
      throw new IllegalArgumentException(
          "the cl_mem is no buffer but an image or a pipe; copy it to a buffer first");
    }
    long size = OpenCL.clGetMemObjectSize(buffer);
    if (handle.byteSize() > size) {
      throw new IllegalArgumentException(
          "the cl_mem has "
              + size
              + " bytes, and offset and size of the handle end at byte "
              + handle.byteSize());
    }
    long flags = OpenCL.clGetMemObjectFlags(buffer);
    if ((flags & HOST_RESTRICTED) != 0) {
      throw new IllegalArgumentException(
          "the cl_mem was created with one of CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY and"
              + " CL_MEM_HOST_NO_ACCESS, so it cannot be copied to the host and back; create it"
              + " without");
    }
    if ((flags & OpenCL.CL_MEM_WRITE_ONLY) != 0) {
      throw new IllegalArgumentException(
          "kernels may not read the cl_mem, which was created with CL_MEM_WRITE_ONLY; create it"
              + " with CL_MEM_READ_WRITE");
    }
    if (written && (flags & OpenCL.CL_MEM_READ_ONLY) != 0) {
      throw new IllegalArgumentException(
          "kernels may not write the cl_mem, which was created with CL_MEM_READ_ONLY; adopt it with"
              + " MapMode.READ");
    }
  }
}
