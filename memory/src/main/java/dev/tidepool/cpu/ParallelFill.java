package dev.tidepool.cpu;

import dev.tidepool.host.MemoryOperations;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Fills memory of the host. Large memory is filled by all processors, because one alone does not
 * use the whole memory bandwidth.
 */
public final class ParallelFill {
  /** The size from which waking other threads costs less than they save. */
  private static final long LARGE = 8 << 20;

  /** The approximate number of bytes that one thread fills at a time. */
  private static final long PIECE = 2 << 20;

  /** The approximate number of bytes that are copied repeatedly. They stay in the caches. */
  private static final long FRONT = 64 << 10;

  private ParallelFill() {}

  /**
   * Fills memory with a pattern; the last repetition may be cut. Returns when all is filled.
   *
   * @param target memory that all threads may access
   * @param pattern at least one byte
   */
  public static void fill(MemorySegment target, MemorySegment pattern) {
    if (target.byteSize() < LARGE) {
      repeat(pattern, target);
      return;
    }
    CpuThreads.spread(
        target.byteSize(),
        wholePatterns(pattern, PIECE),
        (from, to) -> repeat(pattern, target.asSlice(from, to - from)));
  }

  private static long wholePatterns(MemorySegment pattern, long bytes) {
    return Math.max(1, bytes / pattern.byteSize()) * pattern.byteSize();
  }

  private static void repeat(MemorySegment pattern, MemorySegment target) {
    long bytes = target.byteSize();
    if (pattern.byteSize() == 1) {
      MemoryOperations.fill(target, pattern.get(ValueLayout.JAVA_BYTE, 0));
      return;
    }
    long done = Math.min(pattern.byteSize(), bytes);
    MemorySegment.copy(pattern, 0, target, 0, done);
    long most = wholePatterns(pattern, FRONT);
    while (done < bytes) {
      long more = Math.min(Math.min(done, most), bytes - done);
      MemorySegment.copy(target, 0, target, done, more);
      done += more;
    }
  }
}
