package dev.tidepool.host;

import dev.tidepool.host.system.OperatingSystem;
import dev.tidepool.host.system.Platform;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.FilePermissions;
import dev.tidepool.spi.support.RankedSort;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Files that save work in the next run, in a folder to which only its owner may write: a user who
 * can write there decides what a program reads. A file appears complete or not at all, and a
 * damaged file counts as absent. No method fails; at worst the work is repeated.
 *
 * @param path the folder, or null to keep nothing
 */
public record CacheFolder(@Nullable Path path) {
  private static final long MAGIC = 0x54_49_44_45_43_55_44_41L;
  private static final int HEADER_BYTES = 16;
  private static final int MOST_FILES = 2000;

  /** Larger files were not written by this class, and might not fit into an array. */
  private static final long MOST_BYTES = 1 << 28;

  /** The ending of the file names. Other files, in a folder that a user chose, are not deleted. */
  private static final String ENDING = ".kept";

  /** Returns a folder in this user's cache folder, by its name within {@code tidepool}. */
  public static CacheFolder named(String name) {
    return named(name, System.getenv(), Path.of(System.getProperty("user.home", "?")));
  }

  /**
   * Like {@link #named(String)}, but for a user with the given environment variables: the folder is
   * {@code tidepool} in {@code XDG_CACHE_HOME}, or else in the system's cache folder.
   *
   * @param home the home folder. If it is not absolute, the user has none, as in many containers.
   *     Nothing is kept then unless the variables name a folder.
   */
  public static CacheFolder named(String name, Map<String, String> environment, Path home) {
    return named(name, environment, home, Platform.CURRENT.system());
  }

  static CacheFolder named(
      String name, Map<String, String> environment, Path home, OperatingSystem system) {
    String caches = environment.getOrDefault("XDG_CACHE_HOME", "");
    Path root = caches.isBlank() ? usual(environment, home, system) : Path.of(caches);
    return new CacheFolder(root.isAbsolute() ? root.resolve("tidepool").resolve(name) : null);
  }

  private static Path usual(Map<String, String> environment, Path home, OperatingSystem system) {
    String local = environment.getOrDefault("LOCALAPPDATA", "");
    return switch (system) {
      case MACOS -> home.resolve("Library/Caches");
      case WINDOWS -> local.isBlank() ? home.resolve("AppData/Local") : Path.of(local);
      case LINUX, OTHER -> home.resolve(".cache");
    };
  }

  /** Returns the content that was kept under a key, if the file is complete. */
  public Optional<byte[]> get(String key) {
    if (path == null || !isSafe(path)) {
      return Optional.empty();
    }
    Path file = path.resolve(key + ENDING);
    try {
      if (!Files.isRegularFile(file) || Files.size(file) > MOST_BYTES) {
        return Optional.empty();
      }
      ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file));
      if (bytes.remaining() < HEADER_BYTES
          || bytes.getLong() != MAGIC
          || bytes.getLong() != checksum(bytes)) {
        return Optional.empty();
      }
      // Marks the file as used, so that it stays when the oldest files are deleted.
      Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis()));
      byte[] content = new byte[bytes.remaining()];
      bytes.get(content);
      return Optional.of(content);
    } catch (IOException absent) {
      return Optional.empty();
    }
  }

  /** Keeps content under a key that can be a file name. Deletes the oldest files if too many. */
  public void put(String key, byte[] content) {
    if (path == null || content.length > MOST_BYTES - HEADER_BYTES) {
      return;
    }
    try {
      create(path);
      if (isSafe(path)) {
        write(path, key, content);
        removeOldest(path);
      }
    } catch (IOException | UncheckedIOException | UnsupportedOperationException notKept) {
      FailureLog.debug(path + " keeps nothing", notKept);
    }
  }

  private static void write(Path folder, String key, byte[] content) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(HEADER_BYTES + content.length);
    bytes.putLong(MAGIC).putLong(checksum(ByteBuffer.wrap(content))).put(content);
    Path partial = Files.createTempFile(folder, "partial", ENDING);
    try {
      Files.write(partial, bytes.array());
      Files.move(partial, folder.resolve(key + ENDING), StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(partial);
    }
  }

  private static long checksum(ByteBuffer bytes) {
    CRC32C checksum = new CRC32C();
    checksum.update(bytes.duplicate());
    return checksum.getValue() << 32 | bytes.remaining();
  }

  private static void create(Path folder) throws IOException {
    Path parent = folder.getParent();
    if (parent != null) {
      Files.createDirectories(parent);
    }
    if (!Files.isDirectory(folder)) {
      Files.createDirectories(folder, FilePermissions.ownerOnlyFolder(folder));
    }
  }

  private static boolean hasPermissions(Path folder) {
    return folder.getFileSystem().supportedFileAttributeViews().contains("posix");
  }

  /** Returns whether the folder belongs to this user and no other user may write to it. */
  private static boolean isSafe(Path folder) {
    try {
      if (!Files.isDirectory(folder)) {
        return false;
      }
      if (!hasPermissions(folder)) {
        return true;
      }
      Set<PosixFilePermission> others =
          EnumSet.of(PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE);
      others.retainAll(Files.getPosixFilePermissions(folder));
      return others.isEmpty()
          && Files.getOwner(folder).getName().equals(System.getProperty("user.name"));
    } catch (IOException unreadable) {
      return false;
    }
  }

  private static void removeOldest(Path folder) throws IOException {
    List<Path> files;
    try (Stream<Path> entries = Files.list(folder)) {
      files =
          entries
              .filter(file -> file.toString().endsWith(ENDING))
              .filter(file -> Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS))
              .toList();
    }
    if (files.size() > MOST_FILES) {
      // Other processes may use the files while they are sorted.
      RankedSort.by(File::lastModified, files.stream().map(Path::toFile)).stream()
          .limit(files.size() - MOST_FILES)
          .forEach(File::delete);
    }
  }
}
