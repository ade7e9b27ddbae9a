package dev.tidepool.codec;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/** Bytes that are read at positions, by any number of threads. */
public interface ByteSource extends Closeable {
  /**
   * Returns how many bytes there are; where only reading them tells, how many there are at most.
   */
  long size() throws IOException;

  /**
   * Fills the segment with the bytes from {@code position} on.
   *
   * @throws EOFException if the bytes end before the segment is full
   */
  void read(long position, MemorySegment destination) throws IOException;

  /**
   * Fills a buffer on its accelerator with the bytes from {@code position} on, where that is
   * cheaper than {@link #read} and a transfer.
   *
   * @param memory the buffer's manager
   * @return false if it is not cheaper, or failed; the caller then reads the bytes, and meets what
   *     failed again
   */
  default boolean load(
      long position, UnifiedBuffer<byte[]> destination, UnifiedMemoryManager memory) {
    return false;
  }

  /** Checks what can only be checked when all bytes are known, such as a checksum of them all. */
  default void verify() throws IOException {}
}
