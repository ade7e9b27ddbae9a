package dev.tidepool.runtime.storage;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The byte ranges of a storage in which one side is newer than the other: disjoint, not adjacent,
 * in order. Guarded by the storage's monitor. {@link Coherence} transfers the ranges that an access
 * needs.
 *
 * <p>If the heap is full, all bytes become dirty. Bytes outside the ranges are equal on both sides,
 * so this costs a transfer but loses nothing.
 */
final class DirtyRanges {
  /** A half-open range of bytes. */
  record Range(long from, long to) {
    long bytes() {
      return to - from;
    }
  }

  private static final NavigableMap<Long, Long> NONE = Collections.emptyNavigableMap();

  /** Ends by starts; created with the first range, because few buffers have one. */
  private NavigableMap<Long, Long> ranges = NONE;

  private final long size;

  /** True if all bytes are dirty; {@code ranges} is empty then. */
  private boolean all;

  /** Creates the ranges of a storage of {@code size} bytes, none of them dirty. */
  DirtyRanges(long size) {
    this.size = size;
  }

  boolean isEmpty() {
    return !all && ranges.isEmpty();
  }

  void clear() {
    all = false;
    ranges = NONE;
  }

  void add(long from, long to) {
    if (from >= to || all) {
      return;
    }
    if (from <= 0 && to >= size) {
      addAll();
      return;
    }
    try {
      addRange(from, to);
    } catch (OutOfMemoryError e) {
      addAll();
    }
  }

  private void addAll() {
    all = true;
    ranges = NONE;
  }

  private NavigableMap<Long, Long> ranges() {
    if (!(ranges instanceof TreeMap)) {
      ranges = new TreeMap<>();
    }
    return ranges;
  }

  private void addRange(long from, long to) {
    ranges();
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
    if (from <= 0 && to >= size) {
      addAll();
    } else {
      ranges.put(from, to);
    }
  }

  void remove(long from, long to) {
    if (from >= to) {
      return;
    }
    if (from <= 0 && to >= size) {
      clear();
      return;
    }
    try {
      if (all) {
        ranges().put(0L, size);
        all = false;
      }
      removeRange(from, to);
    } catch (OutOfMemoryError e) {
      addAll();
    }
  }

  private void removeRange(long from, long to) {
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

  /** Returns the parts of the dirty ranges within a range. */
  List<Range> within(long from, long to) {
    if (all) {
      long end = Math.min(to, size);
      return from < end ? List.of(new Range(from, end)) : List.of();
    }
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
    if (from >= to) {
      return false;
    }
    if (all) {
      return from < size;
    }
    Map.Entry<Long, Long> last = ranges.lowerEntry(to);
    return last != null && last.getValue() > from;
  }

  /** Returns true if all bytes of the storage are dirty. */
  boolean isAll() {
    return all || size == 0;
  }
}
