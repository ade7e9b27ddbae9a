package dev.tidepool.runtime.storage;

import dev.tidepool.host.HostBlock;
import dev.tidepool.host.MemoryAllocator;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Memory of another library on the host, until it is given back.
 *
 * <p>A segment that is handed out ends before the memory does, so that its use after that fails
 * with an exception. While a native call holds the segment open, the memory stays. Most buffers
 * hand out no segment, and ending one is a handshake with every thread of the process, so the
 * segment is made when it is first asked for. Thread-safe.
 */
public final class AdoptedHostMemory implements Runnable {
  private static final MemoryAllocator ALLOCATOR = new MemoryAllocator();

  private final MemorySegment memory;
  private final Runnable release;
  private @Nullable HostBlock handedOut;

  /**
   * Memory that was not handed out yet.
   *
   * @param memory without a scope of its own
   * @param release gives it back
   */
  public AdoptedHostMemory(MemorySegment memory, Runnable release) {
    this.memory = memory;
    this.release = release;
  }

  /** Returns the memory, without a scope of its own. */
  public MemorySegment memory() {
    return memory;
  }

  /** Returns the memory as users get it, which ends before the memory is given back. */
  synchronized MemorySegment handedOut() {
    HostBlock block = handedOut;
    if (block == null) {
      block = ALLOCATOR.adopt(memory, release);
      handedOut = block;
    }
    return block.segment();
  }

  /** Gives the memory back. Called once, when nothing uses it any more. */
  @Override
  public void run() {
    HostBlock block;
    synchronized (this) {
      block = handedOut;
    }
    // Under no monitor: the release is the user's.
    if (block == null) {
      release.run();
    } else {
      block.free();
    }
  }
}
