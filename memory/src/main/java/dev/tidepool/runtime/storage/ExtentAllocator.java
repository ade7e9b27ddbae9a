package dev.tidepool.runtime.storage;

import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Allocates parts of a file. A part consists of whole pages; a request gets the first gap that is
 * large enough, or the end of the file. Not thread-safe.
 */
final class ExtentAllocator {
  private static final long PAGE = 4096;

  /** Lengths of gaps below the end, by their starts; disjoint and not adjacent. */
  private final NavigableMap<Long, Long> gaps = new TreeMap<>();

  private long end;

  /** Allocates bytes, rounded up to pages; returns their position. */
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
   * Frees a part that {@link #take} returned for the same number of bytes. If the heap is full,
   * this throws and nothing has changed.
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
      // A gap is never last, so there is none after these bytes.
      gaps.remove(from);
      end = from;
    } else {
      long to = after == null ? behind : behind + after;
      gaps.put(from, to - from);
      // Last: a removed entry might not fit in again.
      gaps.remove(behind);
    }
  }

  /** Returns the end of the last allocated part. */
  long end() {
    return end;
  }

  private static long pages(long bytes) {
    return Math.ceilDiv(bytes, PAGE) * PAGE;
  }
}
