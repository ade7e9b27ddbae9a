package dev.tidepool;

/**
 * Access of native code to buffers that are {@linkplain UnifiedMemoryManager#lend lent} to it, in
 * the order of their operations.
 *
 * {@snippet :
 * UnifiedBuffer<float[]> x = memory.copyOf(new float[] {1, 2, 3});
 * try (NativeAccess access = memory.lend(NativeUse.readWrite(x))) {
 *   NativeHandle handle = access.handle(x);
 *   // Submit commands that use handle.value() and handle.offset() to access.queue().
 * }
 * float[] result = new float[3];
 * x.copyTo(result); // waits for them
 * }
 *
 * <p>While it is open, the memory of the buffers does not move, and conflicting operations throw
 * {@link IllegalStateException}: on a buffer that is lent for writing all copies, views, mappings
 * and kernels, on one that is lent for reading those that write. Native code may use the handles
 * until its work on {@link #queue()} ends, also after this access is closed. Nothing checks how
 * native code uses the handles. Thread-safe.
 */
public interface NativeAccess extends AutoCloseable {
  /**
   * Returns the handle of a lent buffer.
   *
   * @throws IllegalArgumentException if the buffer was not lent by this access
   * @throws IllegalStateException if this access is closed
   */
  NativeHandle handle(UnifiedBuffer<?> buffer);

  /**
   * Returns the queue for work on the buffers: a {@code CUstream}, a {@code cl_command_queue} or an
   * {@code id<MTLCommandQueue>}; 0 if the device has none, as the CPU. For {@link
   * UnifiedMemoryManager#lendOn} it is the caller's queue. Commands in this queue run after earlier
   * operations on the buffers; the host does not wait for these.
   *
   * @throws IllegalStateException if this access is closed
   */
  long queue();

  /**
   * Returns the {@code CUcontext} or {@code cl_context}, on Metal the {@code id<MTLDevice>}; 0 if
   * the device has none.
   */
  long context();

  /**
   * Returns the {@code CUdevice}, {@code cl_device_id} or {@code id<MTLDevice>}; 0 if the device
   * has none.
   */
  long device();

  /**
   * Ends the access. Commands submitted to {@link #queue()} before this call are the last use of
   * the buffers by native code, and later operations on them wait for these commands. The use of a
   * {@link NativeKind#HOST_POINTER} must have ended before. Does not wait, unless a buffer over
   * external memory was closed meanwhile: then this method first copies the results back.
   * Idempotent.
   */
  @Override
  void close();
}
