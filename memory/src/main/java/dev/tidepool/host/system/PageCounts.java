package dev.tidepool.host.system;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;

/**
 * The numbers of pages of the machine by their use, as the macOS kernel counts them ({@code
 * vm_statistics64} of {@code mach/vm_statistics.h}).
 *
 * @param free unused pages, including those with bytes of files that were read ahead
 * @param readAhead free pages with bytes of files that were read ahead
 * @param purgeable pages of programs that allow the kernel to discard them
 * @param fileBacked pages that hold bytes of a file
 */
record PageCounts(long free, long readAhead, long purgeable, long fileBacked) {
  /** The size of the kernel's first revision of the structure. Later revisions are longer. */
  static final int BYTES = 152;

  static final int WORDS = BYTES / Integer.BYTES;
  static final int FREE = 0;
  static final int PURGEABLE = 88;
  static final int READ_AHEAD = 92;
  static final int FILE_BACKED = 136;

  static PageCounts of(MemorySegment structure) {
    return new PageCounts(
        count(structure, FREE),
        count(structure, READ_AHEAD),
        count(structure, PURGEABLE),
        count(structure, FILE_BACKED));
  }

  private static long count(MemorySegment structure, int offset) {
    return Integer.toUnsignedLong(structure.get(JAVA_INT, offset));
  }

  /**
   * Returns the pages that programs can get without compression or swapping. Pages that were read
   * ahead count as file-backed.
   */
  long obtainable() {
    return Math.max(0, free - readAhead) + purgeable + fileBacked;
  }
}
