package dev.tidepool.host.system;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A small text file of Linux that is read repeatedly. It stays open, because opening and closing
 * cost several times the reading. Thread-safe.
 */
public final class HeldFile {
  private static final int USUAL_BYTES = 4096;

  private final Path path;

  // Guarded by this. Not a channel, which an interrupt of a reading thread would close.
  private @Nullable RandomAccessFile file;
  private boolean opened;

  // The system fills it with one call, unless the text is longer.
  private byte[] buffer = new byte[0];

  /** Creates the reader of a file, which the first read opens. If that fails, it is empty. */
  public HeldFile(Path path) {
    this.path = path;
  }

  private static @Nullable RandomAccessFile open(Path path) {
    try {
      return new RandomAccessFile(path.toFile(), "r");
    } catch (IOException | SecurityException absent) {
      return null;
    }
  }

  /** Returns the current text of the file, or an empty text if the file is gone. */
  public synchronized String text() {
    if (!opened) {
      opened = true;
      file = open(path);
      buffer = new byte[USUAL_BYTES];
    }
    if (file == null) {
      return "";
    }
    try {
      file.seek(0);
      int length = Math.max(0, file.read(buffer));
      while (length == buffer.length) {
        buffer = Arrays.copyOf(buffer, 2 * length);
        length += Math.max(0, file.read(buffer, length, length));
      }
      return new String(buffer, 0, length, StandardCharsets.UTF_8);
    } catch (IOException gone) {
      return "";
    }
  }
}
