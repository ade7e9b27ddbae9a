package dev.tidepool.stream.file;

import dev.tidepool.spi.support.ExitAction;
import dev.tidepool.spi.support.FailureLog;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/**
 * The unfinished files of this process. A virtual machine that is told to end, by Ctrl-C too,
 * deletes them on its way.
 *
 * <p>Locking: everything under the class's monitor. A path is registered before its file is made
 * and forgotten after it was renamed or deleted, so every unfinished file will be deleted.
 */
public final class UnfinishedFiles {
  private static final Set<Path> PATHS = new HashSet<>();
  private static final ExitAction DELETION =
      new ExitAction("tidepool-unfinished-files", UnfinishedFiles::deleteAll);
  private static boolean ending;

  private UnfinishedFiles() {}

  /**
   * Lets the end of the virtual machine delete a path.
   *
   * @throws IllegalStateException if it is ending already
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
