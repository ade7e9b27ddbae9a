package dev.tidepool.opencl;

import java.lang.foreign.MemorySegment;

/**
 * A buffer object for the commands of one operation. Closing releases the object if it was created
 * for that operation. OpenCL keeps it until the commands that were enqueued with it have ended.
 *
 * @param buffer the {@code cl_mem}
 * @param owned whether closing releases it
 */
record AsBuffer(long buffer, boolean owned) implements AutoCloseable {

  /** Returns a block's own buffer object, or creates one over its bytes. */
  static AsBuffer of(OpenClBlock block) {
    return switch (block) {
      case BufferBlock own -> new AsBuffer(own.buffer(), false);
      case SharedPointerBlock pointer ->
          over(pointer.context(), pointer.bytes(0, pointer.byteSize()));
      case PinnedBlock pinned ->
          throw new IllegalArgumentException(
              "pinned memory of " + pinned.byteSize() + " bytes is no memory of the device");
    };
  }

  /** Creates device memory. */
  static AsBuffer fresh(Context context, long bytes) {
    return new AsBuffer(
        OpenCL.clCreateBuffer(
            context.handle(), OpenCL.CL_MEM_READ_WRITE, bytes, MemorySegment.NULL),
        true);
  }

  /** Creates device memory that begins as a copy of the host's bytes; the copy is made at once. */
  static AsBuffer copyOf(Context context, MemorySegment bytes) {
    return new AsBuffer(
        OpenCL.clCreateBuffer(
            context.handle(),
            OpenCL.CL_MEM_READ_WRITE | OpenCL.CL_MEM_COPY_HOST_PTR,
            bytes.byteSize(),
            bytes),
        true);
  }

  /** Returns a buffer over the host's bytes in place, for a device that reaches host memory. */
  static AsBuffer over(Context context, MemorySegment bytes) {
    return new AsBuffer(
        OpenCL.clCreateBuffer(
            context.handle(),
            OpenCL.CL_MEM_READ_WRITE | OpenCL.CL_MEM_USE_HOST_PTR,
            bytes.byteSize(),
            bytes),
        true);
  }

  /** Returns a part of a buffer; the device's alignment must allow its start. */
  static AsBuffer part(long buffer, long offset, long bytes) {
    return new AsBuffer(OpenCL.clCreateSubBuffer(buffer, offset, bytes), true);
  }

  @Override
  public void close() {
    if (owned) {
      OpenCL.clReleaseMemObject(buffer);
    }
  }
}
