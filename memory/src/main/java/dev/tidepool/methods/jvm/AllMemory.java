package dev.tidepool.methods.jvm;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * All native memory as one segment, for code that has tested its indices itself.
 *
 * <p>A segment or buffer tests at each access whether its arena is open and which thread owns it.
 * HotSpot takes these tests out of loops only as long as the process has used no other sorts of
 * arenas and buffers: a kernel with nine loads in a condition takes three times as long otherwise.
 * They are never needed for a constant of this scope.
 */
final class AllMemory {
  /** From address 0 on; null if this process may not use native memory. */
  static final @Nullable MemorySegment SEGMENT = all();

  private AllMemory() {}

  @SuppressWarnings("restricted")
  private static @Nullable MemorySegment all() {
    try {
      return MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
    } catch (IllegalCallerException e) {
      return null;
    }
  }
}
