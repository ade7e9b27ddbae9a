package dev.tidepool.runtime.buffer;

import dev.tidepool.MapMode;
import dev.tidepool.TransferException;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.spi.support.Uninterruptibly;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;

/**
 * A file that is mapped as a whole.
 *
 * @param key identifies the file, whatever its name
 */
record MappedFile(MemorySegment bytes, Object key) {
  /**
   * Maps a file until the arena is closed.
   *
   * @throws TransferException if the file is not regular, or cannot be opened or mapped
   */
  static MappedFile map(Path file, MapMode mode, Arena arena) {
    FileErrors.checkFileSystem("map", file);
    checkRegular(file);
    Set<StandardOpenOption> how =
        mode.writes()
            ? Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE)
            : Set.of(StandardOpenOption.READ);
    FileChannel.MapMode pages =
        mode.writes() ? FileChannel.MapMode.READ_WRITE : FileChannel.MapMode.READ_ONLY;
    try {
      return Uninterruptibly.reopening(
          () -> {
            try (FileChannel channel = FileChannel.open(file, how)) {
              MemorySegment bytes = channel.map(pages, 0, channel.size(), arena);
              return new MappedFile(bytes, MemoryRange.key(file));
            }
          });
    } catch (IOException e) {
      throw FileErrors.failed("map", file, e);
    }
  }

  /** Rejects pipes, whose opening would wait for a writer, and devices, which have no length. */
  private static void checkRegular(Path file) {
    if (Files.exists(file) && !Files.isRegularFile(file)) {
      String kind = Files.isDirectory(file) ? "a folder" : "no regular file";
      throw new TransferException("cannot map " + file + ": it is " + kind + "; name a file", null);
    }
  }
}
