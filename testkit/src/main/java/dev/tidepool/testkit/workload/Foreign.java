package dev.tidepool.testkit.workload;

import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A buffer over memory that outlives it: all zeros, and at least one element long.
 *
 * @param memory the same bytes by another way, which stays when the buffer is closed
 */
record Foreign(UnifiedBuffer<int[]> buffer, MemorySegment memory) {

  /** Over native memory, which lives as long as anybody reaches it. */
  static Foreign wrapped(UnifiedMemoryManager manager, int length) {
    MemorySegment memory = Arena.ofAuto().allocate(bytes(length), Integer.BYTES);
    return new Foreign(manager.wrap(ElementType.INT, memory), memory);
  }

  /** What the memory holds. */
  int[] contents() {
    return memory.toArray(ValueLayout.JAVA_INT);
  }

  /** Over a file that has no name any more. */
  static Foreign mapped(UnifiedMemoryManager manager, int length) {
    try {
      Path file = Files.createTempFile("tidepool-workload", ".raw");
      try {
        MemorySegment memory;
        try (FileChannel channel =
            FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
          channel.write(ByteBuffer.allocate(1), bytes(length) - 1);
          memory = channel.map(FileChannel.MapMode.READ_ONLY, 0, bytes(length), Arena.ofAuto());
        }
        return new Foreign(manager.map(file, ElementType.INT, MapMode.READ_WRITE), memory);
      } finally {
        delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("no file for a mapped buffer", e);
    }
  }

  private static long bytes(int length) {
    return (long) Integer.BYTES * length;
  }

  private static void delete(Path file) {
    try {
      Files.delete(file);
    } catch (IOException stillMapped) {
      file.toFile().deleteOnExit(); // not every system lets a file go that is in use
    }
  }
}
