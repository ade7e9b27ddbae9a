package dev.tidepool;

import java.lang.foreign.MemorySegment;

/**
 * A scope in which a buffer's bytes are on the host.
 *
 * {@snippet :
 * try (UnifiedBuffer<float[]> buffer = memory.copyOf(new float[] {1, 2, 3});
 *     HostMapping mapping = buffer.map(MapMode.READ)) {
 *   float first = mapping.segment().getAtIndex(ValueLayout.JAVA_FLOAT, 0);
 * }
 * }
 *
 * <p>While it is open, device writes to the buffer (and, under a writing mapping, device reads too)
 * are an {@link IllegalStateException}. A confined mapping belongs to the thread that made it:
 * others get a {@link WrongThreadException} from its segment and from {@link #close()}; a shared
 * one may be used and closed by any thread.
 */
public interface HostMapping extends AutoCloseable {
  /**
   * Returns the mapped bytes; read-only in {@link MapMode#READ}. Fails with an {@link
   * IllegalStateException} once the mapping is closed.
   */
  MemorySegment segment();

  /** Returns what the mapping is for. */
  MapMode mode();

  /** Ends the mapping; harmless when called again. */
  @Override
  void close();
}
