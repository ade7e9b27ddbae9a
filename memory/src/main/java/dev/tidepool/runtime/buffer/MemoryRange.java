package dev.tidepool.runtime.buffer;

import dev.tidepool.AbstractUnifiedBuffer;
import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.storage.BackingBlocks;
import dev.tidepool.runtime.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * A range of bytes of one memory. Detects buffers over the same bytes.
 *
 * @param memory the memory: a buffer's own storage, a mapped file's key, or {@link #HOST}
 * @param from the offset of the first byte in the memory; for {@link #HOST} its address
 * @param to the offset or address after the last byte
 */
public record MemoryRange(Object memory, long from, long to) {
  /** All host memory that this library does not own, such as wrapped or shared memory. */
  private static final Object HOST = "the host's memory";

  /**
   * Returns the bytes of a buffer.
   *
   * @throws IllegalStateException if the buffer is closed
   */
  public static MemoryRange of(UnifiedBuffer<?> buffer) {
    long bytes = buffer.byteSize();
    if (!(buffer instanceof BufferHandle<?> own)) {
      return ofForeign(buffer, bytes);
    }
    BackingBlocks backing = own.storage().coherence().backing();
    if (backing.isHostOwned()) {
      return new MemoryRange(own.storage(), own.from(), own.to());
    }
    Object file = backing.file();
    long begin = file == null ? backing.host().address() : 0;
    return new MemoryRange(file == null ? HOST : file, begin + own.from(), begin + own.to());
  }

  /** Requests the segment of the base class only: other classes may count that as a write. */
  private static MemoryRange ofForeign(UnifiedBuffer<?> buffer, long bytes) {
    if (!(buffer instanceof AbstractUnifiedBuffer<?> base)) {
      return new MemoryRange(buffer, 0, bytes);
    }
    MemorySegment segment = base.asSegment();
    Object memory = segment.heapBase().orElse(segment.isNative() ? HOST : buffer);
    return new MemoryRange(memory, segment.address(), segment.address() + bytes);
  }

  /**
   * Returns the range of all bytes that a file may have. It contains the ranges of all buffers that
   * are mapped from the file.
   *
   * @throws IOException if the file is missing
   */
  public static MemoryRange ofFile(Path file) throws IOException {
    return new MemoryRange(key(file), 0, Long.MAX_VALUE);
  }

  /** Returns a key that is the same for all names of a file. */
  static Object key(Path file) throws IOException {
    Object key = Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    return key == null ? file.toRealPath() : key;
  }

  /** Returns the bytes of an array on the heap. */
  public static <A> MemoryRange ofArray(ElementType<A> type, A array) {
    return new MemoryRange(array, 0, type.bytes(type.length(array)));
  }

  /** Returns the range of the first bytes. */
  public MemoryRange front(long bytes) {
    return new MemoryRange(memory, from, from + bytes);
  }

  /** Returns whether the ranges have a byte in common. */
  public boolean overlaps(MemoryRange other) {
    return from < to
        && other.from < other.to
        && from < other.to
        && other.from < to
        && memory.equals(other.memory);
  }

  /**
   * Returns whether two buffers have a byte in common. Creates no object unless the library owns
   * the memory of neither.
   */
  public static boolean overlap(BufferHandle<?> first, BufferHandle<?> second) {
    Storage one = first.storage();
    Storage other = second.storage();
    if (one == other) {
      return first.bytes() > 0
          && second.bytes() > 0
          && first.from() < second.to()
          && second.from() < first.to();
    }
    return !one.coherence().backing().isHostOwned()
        && !other.coherence().backing().isHostOwned()
        && of(first).overlaps(of(second));
  }
}
