package dev.tidepool.runtime.report;

import dev.tidepool.diagnostics.Snapshot;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * Writes snapshots to a folder of the user when memory runs out. The folder receives only a few,
 * from all processes together, so that a program that fails repeatedly does not fill the disk.
 * Thread-safe.
 */
public final class OutOfMemoryDumps {
  static final int MOST = 8;

  private static final System.Logger LOG = System.getLogger("dev.tidepool");
  private static final AtomicLong NUMBERS = new AtomicLong();

  private final Path directory;
  private final AtomicBoolean writing = new AtomicBoolean();

  /**
   * Creates the dumps of a folder.
   *
   * @throws IllegalArgumentException if it is not a writable folder
   */
  public OutOfMemoryDumps(Path directory) {
    check(directory);
    this.directory = directory;
  }

  /**
   * Checks a folder.
   *
   * @throws IllegalArgumentException if it is not a writable folder
   */
  public static void check(Path directory) {
    if (!Files.isDirectory(directory) || !Files.isWritable(directory)) {
      throw new IllegalArgumentException(
          "dump-directory is " + directory + "; it must be a folder that can be written to");
    }
  }

  /**
   * Writes a snapshot, unless the folder has enough or another thread is writing one. Never throws,
   * because the caller is about to throw an error.
   */
  void write(Supplier<Snapshot> snapshot) {
    if (!writing.compareAndSet(false, true)) {
      return;
    }
    try {
      if (isFull()) {
        LOG.log(
            Level.WARNING,
            "memory ran out, and no snapshot was written: "
                + directory
                + " holds "
                + MOST
                + " already; remove them to see the next");
      } else {
        Path file = directory.resolve(name());
        snapshot.get().writeTo(file);
        LOG.log(Level.WARNING, "memory ran out; to see every block: tidepool view " + file);
      }
    } catch (IOException | RuntimeException | OutOfMemoryError e) {
      LOG.log(Level.WARNING, "memory ran out, and no snapshot could be written", e);
    } finally {
      writing.set(false);
    }
  }

  private boolean isFull() throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "tidepool-*.json")) {
      int found = 0;
      for (Path _ : files) {
        found++;
      }
      return found >= MOST;
    }
  }

  /** Returns a name with the time: process ids are reused, in containers at the same time. */
  private static String name() {
    return "tidepool-"
        + System.currentTimeMillis()
        + "-"
        + ProcessHandle.current().pid()
        + "-"
        + NUMBERS.incrementAndGet()
        + ".json";
  }
}
