package dev.tidepool.stream.file;

import dev.tidepool.spi.support.ExitAction;
import dev.tidepool.spi.support.FailureLog;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/**
 * The unfinished files of this process. They are deleted when the virtual machine shuts down, also
 * after Ctrl-C.
 *
 * <p>Locking: the class's monitor guards everything. A path is added before its file is created,
 * and removed after the file was renamed or deleted, so every unfinished file is deleted.
 */
public final class UnfinishedFiles {
  private static final Set<Path> PATHS = new HashSet<>();
  private static final ExitAction DELETION =
      new ExitAction("tidepool-unfinished-files", UnfinishedFiles::deleteAll);
  private static boolean ending;

  private UnfinishedFiles() {}

  /**
   * Adds a path, which is deleted when the virtual machine shuts down.
   *
   * @throws IllegalStateException if it is already shutting down
   */
  public static synchronized void add(Path path) {
    if (ending) {
      throw new IllegalStateException("the virtual machine is ending: no file is begun any more");
    }
    DELETION.register();
    PATHS.add(path);
  }

  public static synchronized void remove(Path path) {
    PATHS.remove(path);
    if (PATHS.isEmpty()) {
      DELETION.unregister();
    }
  }

  private static synchronized void deleteAll() {
    ending = true;
    for (Path path : PATHS) {
      try {
        Files.deleteIfExists(path);
      } catch (IOException e) {
        FailureLog.warn("cannot delete the partial file " + path, e);
      }
    }
  }
}
