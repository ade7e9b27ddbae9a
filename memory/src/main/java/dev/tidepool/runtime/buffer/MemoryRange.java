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
 * A range of bytes of one memory. By it buffers over the same bytes are recognized.
 *
 * @param memory the memory: a buffer's own storage, a mapped file's key, or {@link #HOST}
 * @param from the offset of the first byte in that memory, or its address in the host's
 * @param to the offset behind the last byte
 */
public record MemoryRange(Object memory, long from, long to) {
  /** All memory of the host that buffers were wrapped around, or that processes share. */
  private static final Object HOST = "the host's memory";

  /**
   * Returns the bytes of a buffer.
   *
   * @throws IllegalStateException if it is closed
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

  /** Only the base class is known to have one copy. Others may count a segment as a write. */
  private static MemoryRange ofForeign(UnifiedBuffer<?> buffer, long bytes) {
    if (!(buffer instanceof AbstractUnifiedBuffer<?> base)) {
      return new MemoryRange(buffer, 0, bytes);
    }
    MemorySegment segment = base.asSegment();
    Object memory = segment.heapBase().orElse(segment.isNative() ? HOST : buffer);
    return new MemoryRange(memory, segment.address(), segment.address() + bytes);
  }

  /**
   * All bytes that a file may have, more than any buffer has. They include those of buffers that
   * are mapped from it.
   *
   * @throws IOException if there is no such file
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

  /** Returns its first bytes. */
  public MemoryRange front(long bytes) {
    return new MemoryRange(memory, from, from + bytes);
  }

  /** Returns whether they have a byte in common. */
  public boolean overlaps(MemoryRange other) {
    return from < to
        && other.from < other.to
        && from < other.to
        && other.from < to
        && memory.equals(other.memory);
  }

  /**
   * Returns whether two buffers have a byte in common. Makes no object unless both are over memory
   * that is not the library's.
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
