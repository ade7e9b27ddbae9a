package dev.tidepool.host;

import dev.tidepool.ByteSize;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.spi.support.FileErrors;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Allocates the disk space of a shared file when the file is created. Otherwise a hole in a full
 * file system would cause an error at a later access.
 */
final class FilePreallocation {
  private static final int ZEROS = 1 << 20;

  /** From this size, requests for more memory than the host has are refused without an attempt. */
  private static final long CHECKED_FROM = 64L << 20;

  private FilePreallocation() {}

  /**
   * Writes the header, and zeros for all elements.
   *
   * @param path the future path of the file
   * @throws OutOfDeviceMemoryException if there is no room for them
   */
  static void fill(FileChannel channel, SharedHeader header, Path path) throws IOException {
    long bytes = header.fileBytes();
    Path folder = Objects.requireNonNull(path.getParent());
    File space = folder.toFile();
    if (bytes > space.getUsableSpace()) {
      throw full(bytes, space, "", null);
    }
    if (bytes >= CHECKED_FROM && bytes > HostMemory.obtainableBytes() && isMemory(folder)) {
      // The system would not refuse such a request, but kill a process.
      throw full(bytes, space, ", but they are memory and the host has less", null);
    }
    try {
      write(channel, header.encode(), 0);
      zero(channel, header.bytes(), bytes);
    } catch (ClosedByInterruptException e) {
      throw e;
    } catch (IOException e) {
      // Another process took the space, or a quota or a limit of the process is reached.
      throw full(bytes, space, " after '" + FileErrors.reason(e) + "'", e);
    }
  }

  private static boolean isMemory(Path folder) throws IOException {
    return Files.getFileStore(folder).type().equals("tmpfs");
  }

  private static void zero(FileChannel channel, long from, long to) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment zeros = arena.allocate(Math.min(ZEROS, to - from));
      for (long at = from; at < to; at += zeros.byteSize()) {
        long count = Math.min(zeros.byteSize(), to - at);
        write(channel, zeros.asSlice(0, count).asByteBuffer(), at);
      }
    }
  }

  private static void write(FileChannel channel, ByteBuffer bytes, long at) throws IOException {
    long position = at;
    while (bytes.hasRemaining()) {
      position += channel.write(bytes, position);
    }
  }

  private static OutOfDeviceMemoryException full(
      long bytes, File folder, String why, @Nullable IOException cause) {
    long free = folder.getUsableSpace();
    long total = folder.getTotalSpace();
    OutOfDeviceMemoryException thrown =
        new OutOfDeviceMemoryException(
            "no room for a shared buffer of "
                + bytes
                + " bytes in "
                + folder
                + ": "
                + ByteSize.format(free)
                + " of "
                + ByteSize.format(total)
                + " are free there"
                + why
                + ". Close shared buffers, enlarge the file system (docker run --shm-size), or"
                + " choose a folder elsewhere with the option shared-directory",
            bytes,
            free,
            total,
            -1);
    thrown.initCause(cause);
    return thrown;
  }
}
