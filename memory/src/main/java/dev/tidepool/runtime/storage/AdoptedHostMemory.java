package dev.tidepool.runtime.storage;

import dev.tidepool.host.HostBlock;
import dev.tidepool.host.MemoryAllocator;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Host memory of another library, until it is released.
 *
 * <p>The segment that users get is closed before the memory is released, so that a later access
 * throws an exception. While a native call keeps the segment open, the memory is not released. The
 * segment is created on the first request: most buffers hand out none, and closing one is a
 * handshake with every thread of the process. Thread-safe.
 */
public final class AdoptedHostMemory implements Runnable {
  private static final MemoryAllocator ALLOCATOR = new MemoryAllocator();

  private final MemorySegment memory;
  private final Runnable release;
  private @Nullable HostBlock handedOut;

  /**
   * Creates the owner of foreign memory.
   *
   * @param memory without a scope of its own
   * @param release releases the memory
   */
  public AdoptedHostMemory(MemorySegment memory, Runnable release) {
    this.memory = memory;
    this.release = release;
  }

  /** Returns the memory, without a scope of its own. */
  public MemorySegment memory() {
    return memory;
  }

  /** Returns the segment for users, which is closed before the memory is released. */
  synchronized MemorySegment handedOut() {
    HostBlock block = handedOut;
    if (block == null) {
      block = ALLOCATOR.adopt(memory, release);
      handedOut = block;
    }
    return block.segment();
  }

  /** Releases the memory. Called once, when nothing uses it any more. */
  @Override
  public void run() {
    HostBlock block;
    synchronized (this) {
      block = handedOut;
    }
    // Outside the monitor, because the release is the user's code.
    if (block == null) {
      release.run();
    } else {
      block.free();
    }
  }
}
