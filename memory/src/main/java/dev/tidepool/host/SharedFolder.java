package dev.tidepool.host;

import dev.tidepool.TransferException;
import dev.tidepool.host.system.LibC;
import dev.tidepool.host.system.OperatingSystem;
import dev.tidepool.host.system.Platform;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.spi.support.FilePermissions;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;

/**
 * The folder of shared files, one for each user.
 *
 * <p>By default the folder is {@code /dev/shm/tidepool-UID} on Linux, where files are in memory,
 * and {@code tidepool-UID} in {@code java.io.tmpdir} elsewhere, where files are on disk. A new
 * folder is accessible to its owner only. An existing folder is used only if it belongs to this
 * process's user, no other user may write to it, and it is not a symbolic link. The reason is that
 * another user may have created it first, in a folder to which all may write. If the system has no
 * such permissions (Windows), none of this is checked, and {@link HostPlatform#describe()} reports
 * that.
 *
 * @param path the folder, without symbolic links
 */
public record SharedFolder(Path path) {
  /** The ending of the names of shared files. Other files in the folder are left alone. */
  private static final String ENDING = ".shared";

  private static final int LONGEST_NAME = 128;
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1," + LONGEST_NAME + "}");
  private static final Path MEMORY = Path.of("/dev/shm");

  private static final boolean PERMISSIONS =
      FileSystems.getDefault().supportedFileAttributeViews().containsAll(List.of("posix", "unix"));

  /** The number of this process's user, if the system can tell the owners of files. */
  private static final OptionalInt USER = PERMISSIONS ? user() : OptionalInt.empty();

  /**
   * Returns the chosen folder or the default one. Creates it if it does not exist.
   *
   * @throws TransferException if it cannot be created, or other users may write to it
   */
  public static SharedFolder of(Optional<Path> chosen) {
    Path path = chosen.orElseGet(SharedFolder::byDefault).toAbsolutePath();
    try {
      if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
        create(path);
      }
      String flaw = flaw(path, true);
      if (!flaw.isEmpty()) {
        throw new TransferException(
            path
                + " cannot hold shared buffers: it "
                + flaw
                + "; remove it, or choose another with the option shared-directory",
            null);
      }
      return new SharedFolder(path.toRealPath());
    } catch (IOException e) {
      throw new TransferException(
          path
              + " cannot hold shared buffers: "
              + FileErrors.reason(e)
              + "; choose another folder with the option shared-directory",
          e);
    }
  }

  private static void create(Path path) throws IOException {
    try {
      Files.createDirectory(path, FilePermissions.ownerOnlyFolder(path));
    } catch (FileAlreadyExistsException e) {
      // Another process was faster, or another file has the name. The following check decides.
    }
  }

  /** Returns the path of the default folder. */
  static Path byDefault() {
    Path parent = isInMemory() ? MEMORY : Path.of(System.getProperty("java.io.tmpdir"));
    String user =
        USER.isPresent()
            ? Integer.toUnsignedString(USER.getAsInt())
            : System.getProperty("user.name", "").replaceAll("[^A-Za-z0-9]", "_");
    return parent.resolve("tidepool-" + user);
  }

  private static boolean isInMemory() {
    return Platform.CURRENT.isLinux() && Files.isDirectory(MEMORY) && Files.isWritable(MEMORY);
  }

  /** Describes, for people, the default folder, the location of its files, and its protection. */
  public static String describe() {
    return byDefault()
        + (isInMemory() ? "" : ", files on disk")
        + (USER.isPresent()
            ? ", for this user only"
            : ": this system does not tell the owner of a file, so guard the folder yourself");
  }

  /**
   * Returns the file of a shared buffer.
   *
   * @throws IllegalArgumentException if the name could leave the folder
   */
  Path file(String name) {
    if (!NAME.matcher(name).matches() || name.contains("..")) {
      throw new IllegalArgumentException(
          "'"
              + name
              + "' cannot name a shared buffer; take 1 to "
              + LONGEST_NAME
              + " of the letters a-z and A-Z, digits, '.', '_' and '-', without '..'");
    }
    return path.resolve(fileName(name, Platform.CURRENT.system()) + ENDING);
  }

  /**
   * Returns the name of a file, without its ending. On macOS and Windows, file systems usually
   * treat {@code A} and {@code a} as the same name. Two buffers with the same file would release
   * each other's locks. So the name lists the capital letters behind a character that no buffer's
   * name has.
   */
  static String fileName(String name, OperatingSystem system) {
    BigInteger capitals = BigInteger.ZERO;
    for (int i = 0; i < name.length(); i++) {
      if (name.charAt(i) >= 'A' && name.charAt(i) <= 'Z') {
        capitals = capitals.setBit(i);
      }
    }
    boolean differ = system == OperatingSystem.LINUX || system == OperatingSystem.OTHER;
    return differ || capitals.signum() == 0
        ? name
        : name.toLowerCase(Locale.ROOT) + "^" + capitals.toString(16);
  }

  /** Returns a temporary name for a new file, which no buffer can have. */
  Path begun() {
    return path.resolve("new~" + UUID.randomUUID() + ENDING);
  }

  /** Returns all shared files of the folder. */
  List<Path> files() throws IOException {
    List<Path> files = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(path, "*" + ENDING)) {
      entries.forEach(files::add);
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    return files;
  }

  /**
   * Returns the defect of an existing file or folder, or an empty string if it belongs to this user
   * and no other may write to it.
   *
   * @throws java.nio.file.NoSuchFileException if it does not exist
   */
  static String flaw(Path path, boolean folder) throws IOException {
    Map<String, Object> attributes =
        Files.readAttributes(
            path,
            PERMISSIONS ? "unix:isDirectory,isRegularFile,uid,permissions" : "*",
            LinkOption.NOFOLLOW_LINKS);
    if (!Boolean.TRUE.equals(attributes.get(folder ? "isDirectory" : "isRegularFile"))) {
      return folder ? "is no folder, or a link to one" : "is no plain file, or a link to one";
    }
    if (USER.isPresent() && !Objects.equals(attributes.get("uid"), USER.getAsInt())) {
      return "belongs to user " + attributes.get("uid") + ", not to " + USER.getAsInt();
    }
    if (attributes.get("permissions") instanceof Set<?> permissions
        && (permissions.contains(PosixFilePermission.GROUP_WRITE)
            || permissions.contains(PosixFilePermission.OTHERS_WRITE))) {
      return "may be written by others than its owner";
    }
    return "";
  }

  private static OptionalInt user() {
    OptionalInt told = LibC.user();
    if (told.isPresent()) {
      return told;
    }
    try {
      return OptionalInt.of((int) Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
    } catch (IOException e) {
      return OptionalInt.empty();
    }
  }
}
