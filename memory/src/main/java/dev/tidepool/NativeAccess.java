package dev.tidepool;

/**
 * The native side of buffers that are {@linkplain UnifiedMemoryManager#lend lent} to code outside
 * of Tidepool, in the order of their work.
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
 * <p>While it is open, the memory of the buffers stays where it is. Work that conflicts is an
 * {@link IllegalStateException}: on a buffer that is lent for writing all copies, views, mappings
 * and kernels, on one that is lent for reading those that write. Native code may use the handles
 * until its work on {@link #queue()} ends, not only until this is closed. What native code does
 * with the handles is not checked. Thread-safe.
 */
public interface NativeAccess extends AutoCloseable {
  /**
   * Returns the handle of a buffer that was named.
   *
   * @throws IllegalArgumentException if it was not
   * @throws IllegalStateException if this is closed
   */
  NativeHandle handle(UnifiedBuffer<?> buffer);

  /**
   * Returns the queue for work on the buffers: a {@code CUstream} or a {@code cl_command_queue}; 0
   * where the device has none, as the CPU. For {@link UnifiedMemoryManager#lendOn} it is the queue
   * that was given. Earlier work on the buffers comes before what is submitted here; the host is
   * not waited for.
   *
   * @throws IllegalStateException if this is closed
   */
  long queue();

  /** Returns the {@code CUcontext} or {@code cl_context}; 0 where the device has none. */
  long context();

  /** Returns the {@code CUdevice} or {@code cl_device_id}; 0 where the device has none. */
  long device();

  /**
   * Ends the access: what was submitted to {@link #queue()} until now is the last use of the
   * buffers by native code, and later work on them waits for that. The use of a {@link
   * NativeKind#HOST_POINTER} must have ended before. Does not wait, except where a buffer over
   * memory that outlives it was closed meanwhile: then the results are brought back first.
   * Idempotent.
   */
  @Override
  void close();
}
