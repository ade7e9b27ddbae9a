package dev.tidepool.cuda;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Compiled kernels on disk, in a folder that only its owner may enter: whoever can write there
 * decides what runs on the device. A file appears whole or not at all, and one that is damaged
 * counts as none. Nothing here fails; at worst a kernel is compiled once more.
 *
 * @param folder null keeps nothing
 */
record KernelCache(@Nullable Path folder) {
  private static final long MAGIC = 0x54_49_44_45_43_55_44_41L;
  private static final int HEADER_BYTES = 16;
  private static final int MOST_FILES = 2000;

  /** The one that the settings name, or the user's. */
  static KernelCache ofThisUser() {
    return of(Settings.cache(), System.getenv(), Path.of(System.getProperty("user.home", ".")));
  }

  static KernelCache of(Optional<String> named, Map<String, String> environment, Path home) {
    if (named.isPresent() && named.get().equals("none")) {
      return new KernelCache(null);
    }
    String caches = environment.getOrDefault("XDG_CACHE_HOME", "");
    Path root = caches.isBlank() ? home.resolve(".cache") : Path.of(caches);
    return new KernelCache(named.map(Path::of).orElseGet(() -> root.resolve("tidepool/cuda")));
  }

  /** What was kept under a key, if it is whole. */
  Optional<byte[]> get(String key) {
    if (folder == null || !isSafe(folder)) {
      return Optional.empty();
    }
    Path file = folder.resolve(key);
    try {
      ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file));
      if (bytes.remaining() < HEADER_BYTES
          || bytes.getLong() != MAGIC
          || bytes.getLong() != checksum(bytes)) {
        return Optional.empty();
      }
      // What is used stays when the oldest go.
      Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis()));
      byte[] code = new byte[bytes.remaining()];
      bytes.get(code);
      return Optional.of(code);
    } catch (IOException absent) {
      return Optional.empty();
    }
  }

  void put(String key, byte[] code) {
    if (folder == null) {
      return;
    }
    try {
      create(folder);
      if (isSafe(folder)) {
        write(folder, key, code);
        removeOldest(folder);
      }
    } catch (IOException | UnsupportedOperationException notKept) {
      System.getLogger(KernelCache.class.getName())
          .log(System.Logger.Level.DEBUG, "a compiled kernel is not kept", notKept);
    }
  }

  private static void write(Path folder, String key, byte[] code) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(HEADER_BYTES + code.length);
    bytes.putLong(MAGIC).putLong(checksum(ByteBuffer.wrap(code))).put(code);
    Path partial = Files.createTempFile(folder, "partial", "");
    try {
      Files.write(partial, bytes.array());
      Files.move(partial, folder.resolve(key), StandardCopyOption.ATOMIC_MOVE);
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
      FileAttribute<?>[] ownerOnly =
          hasPermissions(folder)
              ? new FileAttribute<?>[] {
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))
              }
              : new FileAttribute<?>[0];
      Files.createDirectories(folder, ownerOnly);
    }
  }

  private static boolean hasPermissions(Path folder) {
    return folder.getFileSystem().supportedFileAttributeViews().contains("posix");
  }

  /** Whether it is this user's, and nobody else may write there. */
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

  private static void removeOldest(Path folder) {
    List<Path> files = NvrtcPlaces.list(folder, "*");
    files.stream()
        .sorted(Comparator.comparingLong(file -> file.toFile().lastModified()))
        .limit(Math.max(0, files.size() - MOST_FILES))
        .forEach(file -> file.toFile().delete());
  }
}
