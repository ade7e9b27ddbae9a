package dev.tidepool;

import java.lang.foreign.MemorySegment;

/**
 * A scope in which a buffer's bytes are mapped on the host.
 *
 * {@snippet :
 * try (UnifiedBuffer<float[]> buffer = memory.copyOf(new float[] {1, 2, 3});
 *     HostMapping mapping = buffer.map(MapMode.READ)) {
 *   float first = mapping.segment().getAtIndex(ValueLayout.JAVA_FLOAT, 0);
 * }
 * }
 *
 * <p>While it is open, device writes to the buffer throw {@link IllegalStateException}; under a
 * writing mapping, device reads do so too. A confined mapping belongs to the thread that created
 * it: its segment and {@link #close()} throw {@link WrongThreadException} on other threads. Any
 * thread may use and close a shared mapping.
 */
public interface HostMapping extends AutoCloseable {
  /**
   * Returns the mapped bytes; read-only in {@link MapMode#READ}.
   *
   * @throws IllegalStateException if the mapping is closed
   */
  MemorySegment segment();

  /** Returns how the mapping is used. */
  MapMode mode();

  /** Ends the mapping. Idempotent. */
  @Override
  void close();
}
