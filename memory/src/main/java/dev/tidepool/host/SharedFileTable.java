package dev.tidepool.host;

import dev.tidepool.ElementType;
import dev.tidepool.TransferException;
import dev.tidepool.spi.support.ExitAction;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.spi.support.FilePermissions;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The shared files that this process uses, with the number of users of each.
 *
 * <p><b>Locking.</b> The class's monitor guards the entries and is never held during a file
 * operation. The first thread that uses a path adds an entry for it. A thread that finds an entry
 * whose file another thread is opening or leaving tries again after a pause.
 *
 * <p>When the virtual machine ends normally, an exit action leaves all files, which deletes those
 * that no other process uses. The mappings stay until the process ends.
 *
 * <p>Two class loaders that both load this library must not share the same names: each would
 * release the other's locks.
 */
final class SharedFileTable {
  private static final long PATIENCE_NANOS = 10_000_000_000L;
  private static final long LAST_PATIENCE_NANOS = 1_000_000_000L;
  private static final long PAUSE_NANOS = 50_000;

  private static final Map<Path, Entry> ENTRIES = new HashMap<>();
  private static final ExitAction LEAVING =
      new ExitAction("tidepool-shared-files", SharedFileTable::leaveAll);
  private static boolean ending;

  private SharedFileTable() {}

  private enum Stage {
    CREATING,
    /** Being checked or left, only for a moment. */
    TOUCHED,
    USED
  }

  /** The use of a path by this process. A user of the file holds the entry until its release. */
  static final class Entry {
    private final Path path;
    private Stage stage;
    private int users;
    private @Nullable SharedFile file;

    private Entry(Path path, Stage stage) {
      this.path = path;
      this.stage = stage;
    }
  }

  /** Returns the file of an entry in use. */
  static synchronized SharedFile fileOf(Entry entry) {
    return Objects.requireNonNull(entry.file, "a file in use");
  }

  /**
   * Creates a file. The caller is its first user.
   *
   * @throws TransferException if the name is in use, or the file cannot be created
   */
  static Entry create(SharedFolder folder, String name, SharedHeader header) {
    Path path = folder.file(name);
    Path begun = folder.begun();
    Entry entry = enter(path, Stage.CREATING);
    boolean created = false;
    try {
      enter(begun, Stage.CREATING);
      sweep(folder);
      use(entry, SharedFile.create(path, begun, header));
      created = true;
      return entry;
    } catch (FileAlreadyExistsException e) {
      throw inUse(path, SharedFile.holder(path), e);
    } catch (IOException e) {
      throw failed("create", path, e);
    } finally {
      forget(begun);
      if (!created) {
        forget(path);
      }
    }
  }

  /**
   * Opens a file that is in use. The caller is one more user.
   *
   * @throws TransferException if there is none, or it cannot be used
   * @throws IllegalArgumentException if it holds elements of another type
   */
  static Entry open(SharedFolder folder, String name, ElementType<?> type) {
    Path path = folder.file(name);
    String what = "the shared buffer " + path;
    Entry entry = enter(path, Stage.TOUCHED);
    if (isUsed(entry)) {
      checkType(entry, type, what);
      return entry;
    }
    boolean opened = false;
    try {
      sweep(folder);
      use(entry, SharedFile.open(path, type, what));
      opened = true;
      return entry;
    } catch (NoSuchFileException e) {
      throw missing(path, e);
    } catch (IOException e) {
      throw failed("open", path, e);
    } finally {
      if (!opened) {
        forget(path);
      }
    }
  }

  private static void checkType(Entry entry, ElementType<?> type, String what) {
    try {
      fileOf(entry).header().check(type, what);
    } catch (RuntimeException e) {
      release(entry);
      throw e;
    }
  }

  /** Ends one use. The last user unmaps and leaves the file. Never throws. */
  static void release(Entry entry) {
    if (isLast(entry)) {
      fileOf(entry).close(() -> forget(entry.path));
    }
  }

  /** Counts one user less. Returns whether it was the last one, and the exit action has not run. */
  private static synchronized boolean isLast(Entry entry) {
    entry.users--;
    if (entry.users > 0 || !ENTRIES.containsKey(entry.path)) {
      return false;
    }
    entry.stage = Stage.TOUCHED;
    return true;
  }

  /** Adds an entry for a path, or returns the entry of its file in use with one more user. */
  private static Entry enter(Path path, Stage stage) {
    long start = System.nanoTime();
    Entry entry = tryEnter(path, stage);
    while (entry == null) {
      if (System.nanoTime() - start > PATIENCE_NANOS) {
        throw new TransferException(
            path
                + " is still mapped by this process, "
                + PATIENCE_NANOS / 1_000_000_000L
                + " seconds after its last buffer was closed; end the native call that uses it",
            null);
      }
      LockSupport.parkNanos(PAUSE_NANOS);
      entry = tryEnter(path, stage);
    }
    return entry;
  }

  /** Returns null while another thread opens or leaves the file. */
  private static synchronized @Nullable Entry tryEnter(Path path, Stage stage) {
    checkAlive();
    Entry there = ENTRIES.get(path);
    if (there == null) {
      Entry fresh = new Entry(path, stage);
      ENTRIES.put(path, fresh);
      return fresh;
    }
    if (there.stage == Stage.TOUCHED) {
      return null;
    }
    if (stage == Stage.CREATING) {
      throw inUse(path, "a shared buffer of this process", null);
    }
    if (there.stage == Stage.CREATING) {
      throw missing(path, null);
    }
    there.users++;
    return there;
  }

  private static synchronized boolean isUsed(Entry entry) {
    return entry.stage == Stage.USED;
  }

  private static synchronized void forget(Path path) {
    ENTRIES.remove(path);
    if (ENTRIES.isEmpty()) {
      LEAVING.unregister();
    }
  }

  private static void use(Entry entry, SharedFile file) {
    if (!tryUse(entry, file)) {
      file.leave();
      forget(entry.path);
    }
  }

  /**
   * Marks an entry as used. Returns false if the virtual machine is ending and the exit action has
   * already listed the files to leave.
   */
  private static synchronized boolean tryUse(Entry entry, SharedFile file) {
    entry.file = file;
    entry.users = 1;
    entry.stage = Stage.USED;
    return !ending;
  }

  /** Deletes files of killed processes in a folder. Files that cannot be deleted stay. */
  private static void sweep(SharedFolder folder) {
    try {
      Set<@Nullable Object> inUse = keysInUse();
      for (Path path : folder.files()) {
        if (begin(path)) {
          try {
            // The path may be the temporary name of a file in use whose creator was killed.
            if (!inUse.contains(FilePermissions.key(path))) {
              SharedFile.discardIfUnused(path);
            }
          } catch (NoSuchFileException e) {
            // Another process deleted the file first.
          } finally {
            forget(path);
          }
        }
      }
    } catch (IOException e) {
      FailureLog.debug(folder.path() + " could not be swept", e);
    }
  }

  private static synchronized Set<@Nullable Object> keysInUse() {
    Set<@Nullable Object> keys = new HashSet<>();
    for (Entry entry : ENTRIES.values()) {
      if (entry.file != null && entry.file.key() != null) {
        keys.add(entry.file.key());
      }
    }
    return keys;
  }

  private static synchronized boolean begin(Path path) {
    return ENTRIES.putIfAbsent(path, new Entry(path, Stage.TOUCHED)) == null;
  }

  private static void checkAlive() {
    if (ending) {
      throw new IllegalStateException(
          "the virtual machine is ending: no memory is shared any more");
    }
    LEAVING.register();
  }

  private static void leaveAll() {
    leave().forEach(SharedFile::leave);
    // A thread may be about to create or leave a file now.
    long start = System.nanoTime();
    while (isBusy() && System.nanoTime() - start < LAST_PATIENCE_NANOS) {
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  /** Ends the use of all files. Returns the files that were in use. */
  private static synchronized List<SharedFile> leave() {
    ending = true;
    List<Entry> used =
        ENTRIES.values().stream().filter(entry -> entry.stage == Stage.USED).toList();
    used.forEach(entry -> ENTRIES.remove(entry.path));
    return used.stream().map(SharedFileTable::fileOf).toList();
  }

  private static synchronized boolean isBusy() {
    return !ENTRIES.isEmpty();
  }

  private static TransferException inUse(
      Path path, String holder, @Nullable FileAlreadyExistsException cause) {
    return new TransferException(
        "the name of the shared buffer "
            + path
            + " is taken by "
            + holder
            + "; open it, close it everywhere, or take another name",
        cause == null ? new FileAlreadyExistsException(path.toString()) : cause);
  }

  private static TransferException missing(Path path, @Nullable NoSuchFileException cause) {
    return new TransferException(
        "there is no shared buffer "
            + path
            + "; create it first, with the same option shared-directory",
        cause == null ? new NoSuchFileException(path.toString()) : cause);
  }

  private static TransferException failed(String verb, Path path, IOException cause) {
    return new TransferException(
        "cannot " + verb + " the shared buffer " + path + ": " + FileErrors.reason(cause), cause);
  }
}
