package dev.tidepool.runtime.storage;

import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Which parts of a file are taken. A part is whole pages; a request gets the first gap that it fits
 * into, or the end. Not safe for use by several threads.
 */
final class ExtentAllocator {
  private static final long PAGE = 4096;

  /** Gaps below the end, disjoint and not adjacent: lengths by starts. */
  private final NavigableMap<Long, Long> gaps = new TreeMap<>();

  private long end;

  /** Takes so many bytes, rounded up to pages; returns where they begin. */
  long take(long bytes) {
    long length = pages(bytes);
    OptionalLong fitting =
        gaps.entrySet().stream()
            .filter(gap -> gap.getValue() >= length)
            .mapToLong(Map.Entry::getKey)
            .findFirst();
    if (fitting.isPresent()) {
      return takeFromGap(fitting.getAsLong(), length);
    }
    long start = end;
    end += length;
    return start;
  }

  private long takeFromGap(Long start, long length) {
    long gap = Objects.requireNonNull(gaps.get(start), "a gap begins there");
    if (gap > length) {
      gaps.put(start + length, gap - length);
    }
    gaps.remove(start);
    return start;
  }

  /**
   * Gives back what {@link #take} of the same bytes answered with. If the heap has no room for the
   * gap, this throws and nothing has changed.
   */
  void giveBack(long start, long bytes) {
    Long from = start;
    Map.Entry<Long, Long> before = gaps.lowerEntry(from);
    if (before != null && before.getKey() + before.getValue() == start) {
      from = before.getKey();
    }
    Long behind = start + pages(bytes);
    Long after = gaps.get(behind);
    if (behind == end) {
      // A gap is never last, so there is none behind these bytes.
      gaps.remove(from);
      end = from;
    } else {
      long to = after == null ? behind : behind + after;
      gaps.put(from, to - from);
      // Only now: what is removed may not fit in again.
      gaps.remove(behind);
    }
  }

  /** Where the last taken part ends. */
  long end() {
    return end;
  }

  private static long pages(long bytes) {
    return Math.ceilDiv(bytes, PAGE) * PAGE;
  }
}
