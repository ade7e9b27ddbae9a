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

  private long takeFromGap(long start, long length) {
    long gap = Objects.requireNonNull(gaps.remove(start), "a gap begins there");
    if (gap > length) {
      gaps.put(start + length, gap - length);
    }
    return start;
  }

  /** Gives back what {@link #take} of the same bytes answered with. */
  void giveBack(long start, long bytes) {
    long from = start;
    long to = start + pages(bytes);
    Map.Entry<Long, Long> before = gaps.lowerEntry(from);
    if (before != null && before.getKey() + before.getValue() == from) {
      from = before.getKey();
    }
    Long after = gaps.remove(to);
    if (after != null) {
      to += after;
    }
    gaps.remove(from);
    if (to == end) {
      end = from;
    } else {
      gaps.put(from, to - from);
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
