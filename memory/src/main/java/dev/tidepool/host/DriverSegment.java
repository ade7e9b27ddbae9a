package dev.tidepool.host;

import dev.tidepool.TidepoolException;
import dev.tidepool.host.system.OwnMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.LockSupport;

/**
 * A driver's memory as a segment whose scope ends with the memory. So access through a segment that
 * is kept too long fails with an exception and never reaches freed bytes.
 */
public final class DriverSegment {
  private static final long LONGEST_WAIT_NANOS = 5_000_000_000L;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment segment;

  /**
   * Creates a view of all the memory.
   *
   * @param memory without a scope of its own. A driver allocated it for this library, so its bytes
   *     cannot vanish before the view is closed.
   */
  public DriverSegment(MemorySegment memory) {
    segment = memory.reinterpret(memory.byteSize(), arena, null);
    OwnMemory.add(segment);
  }

  /** Returns the view, which all threads may access. Always returns the same object. */
  public MemorySegment segment() {
    return segment;
  }

  /**
   * Ends the scope. Waits for native calls that use the segment at this moment, such as a file
   * read, because they hold the scope open.
   *
   * @throws TidepoolException if such a call does not end. The memory must then never be freed.
   */
  public void close() {
    long start = System.nanoTime();
    while (true) {
      try {
        arena.close();
        OwnMemory.remove(segment);
        return;
      } catch (IllegalStateException inUse) {
        if (System.nanoTime() - start > LONGEST_WAIT_NANOS) {
          throw new TidepoolException(
              "a block of "
                  + segment.byteSize()
                  + " bytes was freed while a native call still used its segment; its memory is"
                  + " not given back. End such calls before the buffer is closed");
        }
        LockSupport.parkNanos(50_000);
      }
    }
  }
}
