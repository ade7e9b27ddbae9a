package dev.tidepool.metal;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/**
 * Which of the host's memory is in buffers of a device, so that its commands reach it there. Safe
 * for use by any thread.
 */
final class HostBuffers {
  private final ConcurrentSkipListMap<Long, MetalBlock> blocks = new ConcurrentSkipListMap<>();

  /** Bytes of the host within a block. */
  record Place(MetalBlock block, long offset) {}

  /** From now on these bytes of the host are a block's. */
  void add(MemorySegment memory, MetalBlock block) {
    blocks.put(memory.address(), block);
  }

  /** What was added at that address is there no longer. */
  void remove(MemorySegment memory) {
    blocks.remove(memory.address());
  }

  /** Returns the block that all bytes of a segment lie in; null if there is none. */
  @Nullable Place find(MemorySegment bytes) {
    Map.Entry<Long, MetalBlock> before = blocks.floorEntry(bytes.address());
    if (before == null) {
      return null;
    }
    long offset = bytes.address() - before.getKey();
    MetalBlock block = before.getValue();
    return offset + bytes.byteSize() <= block.byteSize() ? new Place(block, offset) : null;
  }
}
