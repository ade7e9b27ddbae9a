package dev.tidepool.host.operations;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.tidepool.host.system.LibC;
import dev.tidepool.host.system.OwnMemory;
import java.lang.foreign.MemorySegment;

/**
 * Fills segments with a pattern: writes the front, then copies it behind itself, twice as much each
 * time.
 *
 * <p>The size of a copy is limited, so that its source stays in the cache. In a large segment of
 * {@linkplain OwnMemory own memory}, the C library sets bytes, which is twice as fast.
 */
public final class Fills {
  private static final long SEED = 256;

  /** Copies of this size bypass the caches; their source fits in the last-level cache. */
  private static final long LONGEST_COPY = 4 << 20;

  /** From this size on, the C library is faster than the virtual machine. */
  private static final long LARGE = 1 << 20;

  private Fills() {}

  public static void fill(MemorySegment target, byte value) {
    if (target.byteSize() >= LARGE && LibC.hasSetting() && OwnMemory.contains(target)) {
      LibC.set(target, value);
      return;
    }
    long front = target.byteSize() < 2 * LONGEST_COPY ? target.byteSize() : LONGEST_COPY;
    target.asSlice(0, front).fill(value);
    repeat(target, front);
  }

  public static void fill(MemorySegment target, short value) {
    long front = Math.min(SEED, target.byteSize());
    for (long at = 0; at < front; at += Short.BYTES) {
      target.set(JAVA_SHORT_UNALIGNED, at, value);
    }
    repeat(target, front);
  }

  public static void fill(MemorySegment target, int value) {
    long front = Math.min(SEED, target.byteSize());
    for (long at = 0; at < front; at += Integer.BYTES) {
      target.set(JAVA_INT_UNALIGNED, at, value);
    }
    repeat(target, front);
  }

  public static void fill(MemorySegment target, long value) {
    long front = Math.min(SEED, target.byteSize());
    for (long at = 0; at < front; at += Long.BYTES) {
      target.set(JAVA_LONG_UNALIGNED, at, value);
    }
    repeat(target, front);
  }

  private static void repeat(MemorySegment target, long front) {
    long bytes = target.byteSize();
    for (long done = front; done < bytes; ) {
      long length = Math.min(Math.min(done, LONGEST_COPY), bytes - done);
      MemorySegment.copy(target, 0, target, done, length);
      done += length;
    }
  }
}
