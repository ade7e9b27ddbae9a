package dev.tidepool.spi;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/** Which of the host's memory a driver has locked. Thread-safe. */
public final class PinnedRanges {
  private final ConcurrentSkipListMap<Long, Long> ends = new ConcurrentSkipListMap<>();

  /** No memory yet. */
  public PinnedRanges() {}

  /** From now on these bytes are locked. */
  public void add(long address, long bytes) {
    ends.put(address, address + bytes);
  }

  /** What was added at that address is locked no longer. */
  public void remove(long address) {
    ends.remove(address);
  }

  /** Returns whether all of a segment lies in one range. */
  public boolean contain(MemorySegment bytes) {
    Map.Entry<Long, Long> range = ends.floorEntry(bytes.address());
    return range != null && bytes.address() + bytes.byteSize() <= range.getValue();
  }
}
