package dev.tidepool.stream.file;

import dev.tidepool.spi.support.FilePermissions;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A file that only its owner can access, and that one run at a time locks. The system releases the
 * lock of a process that dies.
 *
 * <p><b>Locks belong to the process</b>, and all of them on a file are released when the process
 * closes any channel to it. So a path that this process has locked is not opened a second time.
 *
 * <p><b>The holder may delete the file</b> between the opening and the lock of another process.
 * That process then has the lock of a file without a name. So a thread that has a lock checks that
 * the path still names the file that it named before the opening; if not, it starts again.
 */
public final class LockedFile implements Closeable {
  private static final int LOOKS = 16;
  private static final Set<Path> OURS = ConcurrentHashMap.newKeySet();

  private final Path path;
  private final Path known;
  private final FileChannel channel;
  private final AtomicBoolean ended = new AtomicBoolean();

  private LockedFile(Path path, Path known, FileChannel channel) {
    this.path = path;
    this.known = known;
    this.channel = channel;
  }

  /**
   * Opens and locks a file. Creates it if it does not exist.
   *
   * @param path a path with a folder
   * @throws IOException if another run has locked it, other users can access it, or the disk fails
   */
  public static LockedFile open(Path path) throws IOException {
    Path folder = Objects.requireNonNull(path.getParent(), "a folder").toRealPath();
    Path known = folder.resolve(path.getFileName());
    if (!OURS.add(known)) {
      throw inUse();
    }
    try {
      for (int i = 0; i < LOOKS; i++) {
        Candidate found = Candidate.at(path);
        FileChannel channel = found == null ? null : found.lock();
        if (channel != null) {
          return new LockedFile(path, known, channel);
        }
      }
      throw inUse();
    } catch (IOException | RuntimeException | Error e) {
      OURS.remove(known);
      throw e;
    }
  }

  private static IOException inUse() {
    return new IOException("another run works on the same result; wait for it to end");
  }

  /**
   * A file that is open and not locked yet.
   *
   * @param key identifies the file, because the path may name another one later
   */
  record Candidate(Path path, FileChannel channel, @Nullable Object key) {
    /**
     * Returns the file at a path, and creates it if it does not exist; null if it was deleted
     * meanwhile.
     */
    static @Nullable Candidate at(Path path) throws IOException {
      boolean made = true;
      try {
        Files.createFile(path, FilePermissions.ownerOnly(path));
      } catch (FileAlreadyExistsException _) {
        made = false;
      }
      try {
        if (!made) {
          FilePermissions.checkOwnersAlone(path);
        }
        Object key = FilePermissions.key(path);
        FileChannel channel =
            FileChannel.open(
                path, StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
        return new Candidate(path, channel, key);
      } catch (NoSuchFileException _) {
        return null;
      }
    }

    /**
     * Locks the channel and returns it. If the path no longer names the file, closes the channel
     * and returns null.
     */
    @Nullable FileChannel lock() throws IOException {
      try {
        if (!takes()) {
          throw inUse();
        }
        if (Objects.equals(key, FilePermissions.key(path))) {
          return channel;
        }
      } catch (NoSuchFileException _) {
        // Its last user has deleted it.
      } catch (IOException | RuntimeException | Error e) {
        channel.close();
        throw e;
      }
      channel.close();
      return null;
    }

    private boolean takes() throws IOException {
      try {
        return channel.tryLock() != null;
      } catch (OverlappingFileLockException _) {
        return false; // By this process, under another name.
      }
    }
  }

  public FileChannel channel() {
    return channel;
  }

  /** Deletes the file, then releases the lock. */
  public void delete() throws IOException {
    try {
      Files.deleteIfExists(path);
    } finally {
      close();
    }
  }

  /** Releases the lock. Idempotent. */
  @Override
  public void close() throws IOException {
    if (ended.compareAndSet(false, true)) {
      try {
        channel.close(); // This also releases the lock.
      } finally {
        OURS.remove(known);
      }
    }
  }
}
