package dev.tidepool.runtime;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The byte ranges of a storage in which one side is newer than the other: disjoint, not adjacent,
 * in order. Guarded by its storage's monitor.
 */
final class DirtyRanges {
  /** A half-open range of bytes. */
  record Range(long from, long to) {
    long bytes() {
      return to - from;
    }
  }

  /** Ends by starts. */
  private final NavigableMap<Long, Long> ranges = new TreeMap<>();

  boolean isEmpty() {
    return ranges.isEmpty();
  }

  void clear() {
    ranges.clear();
  }

  void add(long from, long to) {
    if (from >= to) {
      return;
    }
    Map.Entry<Long, Long> before = ranges.floorEntry(from);
    if (before != null && before.getValue() >= from) {
      from = before.getKey();
      to = Math.max(to, before.getValue());
    }
    NavigableMap<Long, Long> covered = ranges.subMap(from, true, to, true);
    for (long end : covered.values()) {
      to = Math.max(to, end);
    }
    covered.clear();
    ranges.put(from, to);
  }

  void remove(long from, long to) {
    if (from >= to) {
      return;
    }
    for (Range range : within(from, to)) {
      Map.Entry<Long, Long> whole = ranges.floorEntry(range.from());
      long start = whole.getKey();
      long end = whole.getValue();
      ranges.remove(start);
      if (start < range.from()) {
        ranges.put(start, range.from());
      }
      if (range.to() < end) {
        ranges.put(range.to(), end);
      }
    }
  }

  /** The parts of the ranges that lie in the given one. */
  List<Range> within(long from, long to) {
    List<Range> parts = new ArrayList<>();
    Map.Entry<Long, Long> first = ranges.floorEntry(from);
    long start = first == null ? from : first.getKey();
    for (Map.Entry<Long, Long> range :
        ranges.subMap(start, true, Math.max(start, to), false).entrySet()) {
      long low = Math.max(from, range.getKey());
      long high = Math.min(to, range.getValue());
      if (low < high) {
        parts.add(new Range(low, high));
      }
    }
    return parts;
  }

  boolean intersects(long from, long to) {
    return !within(from, to).isEmpty();
  }

  boolean covers(long from, long to) {
    if (from >= to) {
      return true;
    }
    Map.Entry<Long, Long> range = ranges.floorEntry(from);
    return range != null && range.getValue() >= to;
  }

  @Override
  public String toString() {
    return ranges.toString();
  }
}
