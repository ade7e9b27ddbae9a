package dev.tidepool.host.system;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * Distinguishes memory that this library allocated from all other memory.
 *
 * <p>The bytes of other memory can vanish, for example if it is a mapped file that is truncated.
 * Plain access then throws an {@link InternalError}, but a native call, a driver or a vector
 * instruction ends the process. {@link MemorySegment#isMapped} does not detect all such memory: it
 * returns false for a view of a mapped buffer, such as {@code
 * MemorySegment.ofBuffer(mapped.asFloatBuffer())}. So native calls, drivers and vector code access
 * only memory for which {@link #contains} returns true.
 *
 * <p>Memory is identified by its addresses, so slices, views and segments with another scope are
 * recognized too. Code that allocates memory adds it here. It removes the memory after its segment
 * has ended and before it is returned to the system. So addresses that the system gives to other
 * code are not in this set. Access through a segment that was found here before its memory ended
 * fails because of its own scope.
 *
 * <p>Thread-safe, without locks. A query costs 10 to 50 nanoseconds.
 */
public final class OwnMemory {
  /** The end of each range, by its start. Ranges do not overlap. */
  private static final ConcurrentSkipListMap<Long, Long> RANGES = new ConcurrentSkipListMap<>();

  private OwnMemory() {}

  /** Adds the bytes of a native segment. */
  public static void add(MemorySegment memory) {
    if (memory.byteSize() > 0) {
      RANGES.put(memory.address(), memory.address() + memory.byteSize());
    }
  }

  /** Removes the bytes of a segment that was added. */
  public static void remove(MemorySegment memory) {
    if (memory.byteSize() > 0) {
      RANGES.remove(memory.address());
    }
  }

  /**
   * Returns whether all bytes of a segment are native memory that this library allocated. Returns
   * false for segments on the heap.
   */
  public static boolean contains(MemorySegment segment) {
    if (!segment.isNative()) {
      return false;
    }
    long address = segment.address();
    Map.Entry<Long, Long> range = RANGES.floorEntry(address);
    return range != null && segment.byteSize() <= range.getValue() - address;
  }

  /** Returns whether the system has a map of the addresses of this process. */
  public static boolean tellsAddresses() {
    return AddressMap.isTold();
  }

  /**
   * Returns whether a native segment is own memory, or has no file according to the system. The
   * scope of the segment must stay open while the caller relies on the result. For other memory
   * than own, this takes about a millisecond on Linux, and returns false on systems without an
   * address map.
   */
  public static boolean containsOrIsAnonymous(MemorySegment segment) {
    return contains(segment) || AddressMap.isAnonymous(segment.address(), segment.byteSize());
  }
}
