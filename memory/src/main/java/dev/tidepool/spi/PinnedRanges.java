package dev.tidepool.spi;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/** The ranges of the host's memory that a driver has page-locked. Thread-safe. */
public final class PinnedRanges {
  private final ConcurrentSkipListMap<Long, Long> ends = new ConcurrentSkipListMap<>();

  /** Creates an empty set of ranges. */
  public PinnedRanges() {}

  /** Adds a range that is now locked. */
  public void add(long address, long bytes) {
    ends.put(address, address + bytes);
  }

  /** Removes the range that begins at an address. */
  public void remove(long address) {
    ends.remove(address);
  }

  /** Returns whether one range contains the whole segment. */
  public boolean contain(MemorySegment bytes) {
    Map.Entry<Long, Long> range = ends.floorEntry(bytes.address());
    return range != null && bytes.address() + bytes.byteSize() <= range.getValue();
  }
}
