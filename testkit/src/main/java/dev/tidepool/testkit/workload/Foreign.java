package dev.tidepool.testkit.workload;

import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Buffers over memory that is not the library's: all zeros, and at least one element long. */
final class Foreign {
  private Foreign() {}

  /** Over native memory, which lives as long as anybody reaches it. */
  static UnifiedBuffer<int[]> wrapped(UnifiedMemoryManager manager, int length) {
    MemorySegment memory = Arena.ofAuto().allocate(bytes(length), Integer.BYTES);
    return manager.wrap(ElementType.INT, memory);
  }

  /** Over a file that has no name any more. */
  static UnifiedBuffer<int[]> mapped(UnifiedMemoryManager manager, int length) {
    try {
      Path file = Files.createTempFile("tidepool-workload", ".raw");
      try {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
          channel.write(ByteBuffer.allocate(1), bytes(length) - 1);
        }
        return manager.map(file, ElementType.INT, MapMode.READ_WRITE);
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
