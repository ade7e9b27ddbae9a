package dev.tidepool.host.system;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * Tells memory that this library allocated from all other memory.
 *
 * <p>The bytes of other memory can vanish: it may be a mapped file that is truncated. Plain access
 * to them is an {@link InternalError} then, but a native call, a driver or a vector instruction
 * ends the process. {@link MemorySegment#isMapped} does not tell such memory apart, because a view
 * of a mapped buffer, as {@code MemorySegment.ofBuffer(mapped.asFloatBuffer())} is, answers no. So
 * native calls, drivers and vector code touch only what {@link #contains} knows.
 *
 * <p>Memory is known by its addresses: a slice, a view or a segment with another scope is known as
 * well as the segment that it was made of. Code that allocates memory adds it, and removes it when
 * its segment has ended and before it goes back to the system. So an address that the system gives
 * to other code is not in here, and a segment that was found here before its memory ended fails by
 * its own scope.
 *
 * <p>Thread-safe, without locks. A question costs 10 to 50 nanoseconds.
 */
public final class OwnMemory {
  /** The end of each range, by its beginning. Ranges are apart. */
  private static final ConcurrentSkipListMap<Long, Long> RANGES = new ConcurrentSkipListMap<>();

  private OwnMemory() {}

  /** Adds the bytes of a native segment. */
  public static void add(MemorySegment memory) {
    if (memory.byteSize() > 0) {
      RANGES.put(memory.address(), memory.address() + memory.byteSize());
    }
  }

  /** Forgets what was added, once. */
  public static void remove(MemorySegment memory) {
    if (memory.byteSize() > 0) {
      RANGES.remove(memory.address());
    }
  }

  /**
   * Returns whether all bytes of a segment are native memory that this library allocated. Segments
   * of the heap are not.
   */
  public static boolean contains(MemorySegment segment) {
    if (!segment.isNative()) {
      return false;
    }
    long address = segment.address();
    Map.Entry<Long, Long> range = RANGES.floorEntry(address);
    return range != null && segment.byteSize() <= range.getValue() - address;
  }

  /** Returns whether the system tells what lies at the addresses of this process. */
  public static boolean tellsAddresses() {
    return AddressMap.isTold();
  }

  /**
   * Returns whether a native segment is own memory, or else the system says that no file is behind
   * it. Its scope must stay open while the answer counts. Takes about a millisecond for memory that
   * is not own, and is false for it on systems other than Linux, which do not tell.
   */
  public static boolean containsOrIsAnonymous(MemorySegment segment) {
    return contains(segment) || AddressMap.isAnonymous(segment.address(), segment.byteSize());
  }
}
