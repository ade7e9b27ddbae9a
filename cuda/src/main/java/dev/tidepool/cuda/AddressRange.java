package dev.tidepool.cuda;

import java.util.Map;
import java.util.NavigableMap;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Tracks which of a device's reserved addresses are in use. Claims take the lowest addresses that
 * fit, so that the used part grows and shrinks at its end.
 *
 * <p>Thread-safe. The monitor guards the holes; only arithmetic happens under it. A virtual thread
 * may lose its carrier there, so no context may be pushed meanwhile.
 */
final class AddressRange {
  private final long start;
  private final long bytes;
  // The start of each hole and its bytes; no two holes touch.
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
   * Claims free addresses; empty if no hole is large enough.
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

  /** Marks some addresses of a hole as used. */
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
