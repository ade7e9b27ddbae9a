package dev.tidepool.cuda;

import java.util.Map;
import java.util.NavigableMap;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Which of a device's reserved addresses are in use. The lowest that fit are given, so that the
 * used part grows at its end, and shrinks again.
 *
 * <p>Thread-safe. Its monitor guards the holes; nothing happens under it but arithmetic. A virtual
 * thread may lose its carrier there, so no context must be pushed meanwhile.
 */
final class AddressRange {
  private final long start;
  private final long bytes;
  // Where each begins, and its bytes; no two touch.
  private final NavigableMap<Long, Long> holes = new TreeMap<>();

  AddressRange(long start, long bytes) {
    this.start = start;
    this.bytes = bytes;
    holes.put(start, bytes);
  }

  long start() {
    return start;
  }

  long bytes() {
    return bytes;
  }

  /**
   * Addresses that are free; empty if there are not so many in a row.
   *
   * @param alignment a power of two
   */
  synchronized OptionalLong claim(long wanted, long alignment) {
    for (Map.Entry<Long, Long> hole : holes.entrySet()) {
      long first = hole.getKey();
      long end = first + hole.getValue();
      long address = (first + alignment - 1) & -alignment;
      if (address >= first && end - address >= wanted) {
        fill(first, end, address, address + wanted);
        return OptionalLong.of(address);
      }
    }
    return OptionalLong.empty();
  }

  /** Of a hole, some addresses are in use now. */
  private void fill(long first, long end, long from, long to) {
    holes.remove(first);
    if (from > first) {
      holes.put(first, from - first);
    }
    if (end > to) {
      holes.put(to, end - to);
    }
  }

  synchronized void giveBack(long address, long freed) {
    long first = address;
    long end = address + freed;
    Map.Entry<Long, Long> before = holes.floorEntry(address);
    if (before != null && before.getKey() + before.getValue() == address) {
      first = before.getKey();
    }
    Long after = holes.remove(end);
    if (after != null) {
      end += after;
    }
    holes.put(first, end - first);
  }
}
