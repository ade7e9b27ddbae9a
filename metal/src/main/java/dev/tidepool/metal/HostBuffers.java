package dev.tidepool.metal;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;

/**
 * Records which memory of the host is in buffers of a device, so that the device's commands can
 * access it in place. Safe for use by any thread.
 */
final class HostBuffers {
  private final ConcurrentSkipListMap<Long, MetalBlock> blocks = new ConcurrentSkipListMap<>();

  /** Bytes of the host within a block. */
  record Place(MetalBlock block, long offset) {}

  /** Records that bytes of the host belong to a block. */
  void add(MemorySegment memory, MetalBlock block) {
    blocks.put(memory.address(), block);
  }

  /** Removes the bytes that were added at the address of a segment. */
  void remove(MemorySegment memory) {
    blocks.remove(memory.address());
  }

  /** Returns the block that contains all bytes of a segment; null if there is none. */
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
