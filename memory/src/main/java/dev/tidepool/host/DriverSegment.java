package dev.tidepool.host;

import dev.tidepool.TidepoolException;
import dev.tidepool.host.system.OwnMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.LockSupport;

/**
 * Memory of a driver as a segment whose scope ends with the memory, so that a segment that is held
 * too long fails with an exception instead of reaching freed bytes.
 */
public final class DriverSegment {
  private static final long LONGEST_WAIT_NANOS = 5_000_000_000L;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment segment;

  /**
   * Views all of the memory.
   *
   * @param memory without a scope of its own; allocated by a driver for this library, so that its
   *     bytes cannot vanish before the view is closed
   */
  public DriverSegment(MemorySegment memory) {
    segment = memory.reinterpret(memory.byteSize(), arena, null);
    OwnMemory.add(segment);
  }

  /** Returns the view, which all threads reach. Always returns one object. */
  public MemorySegment segment() {
    return segment;
  }

  /**
   * Ends the scope. A native call that uses the segment at this moment, such as a read of a file
   * into it, holds the scope open, and is waited for.
   *
   * @throws TidepoolException if such a call does not end; the memory must then be left to leak
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
