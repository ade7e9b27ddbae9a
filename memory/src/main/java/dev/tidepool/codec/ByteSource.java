package dev.tidepool.codec;

import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/** A sequence of bytes that any number of threads read at positions. */
public interface ByteSource extends Closeable {
  /** Returns the number of bytes; if it is known only after reading them, their maximum. */
  long size() throws IOException;

  /**
   * Fills the segment with the bytes that start at {@code position}.
   *
   * @throws EOFException if the bytes end before the segment is full
   */
  void read(long position, MemorySegment destination) throws IOException;

  /**
   * Fills a buffer on its accelerator with the bytes that start at {@code position}, if that is
   * cheaper than {@link #read} and a transfer.
   *
   * @param memory the buffer's manager
   * @return false if it is not cheaper, or failed; the caller then reads the bytes, and sees the
   *     failure itself
   */
  default boolean load(
      long position, UnifiedBuffer<byte[]> destination, UnifiedMemoryManager memory) {
    return false;
  }

  /** Makes the checks that need all bytes, such as a checksum. */
  default void verify() throws IOException {}
}
