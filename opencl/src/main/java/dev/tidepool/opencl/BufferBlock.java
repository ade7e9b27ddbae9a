package dev.tidepool.opencl;

import dev.tidepool.spi.HostAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A buffer object ({@code cl_mem}): the device's own memory, which the host cannot access; or a
 * buffer over host memory that is mapped while the host uses it, on a device that shares the host's
 * memory but has no shared pointers.
 */
final class BufferBlock extends OpenClBlock {
  private final long buffer;
  // The buffer of which parts are made, since a sub-buffer can have none, and the offset of the
  // block in it.
  private final long whole;
  private final long start;
  private final @Nullable Arena hostMemory;
  // The mapping made by acquire; the owner orders acquire and release.
  private volatile @Nullable MemorySegment mapped;

  /** Creates a block of the device's own memory. */
  BufferBlock(DeviceMemory owner, long byteSize, long buffer) {
    this(owner, byteSize, buffer, buffer, 0);
  }

  /**
   * Creates a block of a buffer, or of a sub-buffer.
   *
   * @param whole the buffer that contains a sub-buffer, or the buffer itself
   * @param start the block's offset in {@code whole}
   */
  BufferBlock(DeviceMemory owner, long byteSize, long buffer, long whole, long start) {
    super(owner, byteSize, null);
    this.buffer = buffer;
    this.whole = whole;
    this.start = start;
    this.hostMemory = null;
  }

  /** Creates a buffer over host memory, whose arena is closed with the block. */
  BufferBlock(DeviceMemory owner, MemorySegment memory, Arena hostMemory, long buffer) {
    super(owner, memory.byteSize(), memory);
    this.buffer = buffer;
    this.whole = buffer;
    this.start = 0;
    this.hostMemory = hostMemory;
  }

  @Override
  public HostAccess hostAccess() {
    return hostMemory == null ? HostAccess.NONE : HostAccess.MAPPED;
  }

  long buffer() {
    return buffer;
  }

  /** Returns whether a part can begin at an offset. */
  boolean hasPartAt(long offset, long alignment) {
    return (start + offset) % alignment == 0;
  }

  /** Returns a buffer object that is a part of this one; the caller closes it. */
  AsBuffer part(long offset, long bytes) {
    return AsBuffer.part(whole, start + offset, bytes);
  }

  /** Enqueues the mapping; returns its event. */
  long map(long queue) {
    OpenCL.Mapping mapping =
        OpenCL.clEnqueueMapBuffer(
            queue, buffer, OpenCL.CL_MAP_READ | OpenCL.CL_MAP_WRITE, byteSize());
    mapped = mapping.memory();
    return mapping.event();
  }

  /** Enqueues the end of the mapping; returns its event. */
  long unmap(long queue) {
    MemorySegment pointer = mapped;
    if (pointer == null) {
      throw new IllegalStateException("a block is released that was not acquired");
    }
    long event = OpenCL.clEnqueueUnmapMemObject(queue, buffer, pointer);
    mapped = null;
    return event;
  }

  /**
   * Releases the buffer object, then the host memory under it. A driver may use that memory until
   * it deletes the object. It does so when no reference is left and all commands that use the
   * object have ended. Both hold here: a block is freed after its commands have ended, and objects
   * that were made of it are released before. So no destructor callback is needed.
   */
  @Override
  void release() {
    try {
      OpenCL.clReleaseMemObject(buffer);
    } finally {
      if (hostMemory != null) {
        hostMemory.close();
      }
    }
  }
}
