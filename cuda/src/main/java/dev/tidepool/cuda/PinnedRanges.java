package dev.tidepool.cuda;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/** The host's memory that the driver has locked, for any of its devices. Thread-safe. */
final class PinnedRanges {
  private static final ConcurrentSkipListMap<Long, Long> ENDS = new ConcurrentSkipListMap<>();

  private PinnedRanges() {}

  static void add(long address, long bytes) {
    ENDS.put(address, address + bytes);
  }

  static void remove(long address) {
    ENDS.remove(address);
  }

  static boolean contain(MemorySegment bytes) {
    Map.Entry<Long, Long> range = ENDS.floorEntry(bytes.address());
    return range != null && bytes.address() + bytes.byteSize() <= range.getValue();
  }
}
