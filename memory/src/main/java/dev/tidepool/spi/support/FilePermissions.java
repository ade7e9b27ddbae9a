package dev.tidepool.spi.support;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Restricts and checks which users can access a file, if the file system has permissions. */
public final class FilePermissions {
  private static final Set<PosixFilePermission> OWNER_ONLY =
      PosixFilePermissions.fromString("rw-------");
  private static final Set<PosixFilePermission> OWNER_ONLY_FOLDER =
      PosixFilePermissions.fromString("rwx------");

  private FilePermissions() {}

  /** Returns the attributes of a new file that only its owner can access. */
  public static FileAttribute<?>[] ownerOnly(Path file) {
    return attributes(file, OWNER_ONLY);
  }

  /** Returns the attributes of a new folder that only its owner can access. */
  public static FileAttribute<?>[] ownerOnlyFolder(Path folder) {
    return attributes(folder, OWNER_ONLY_FOLDER);
  }

  private static FileAttribute<?>[] attributes(Path path, Set<PosixFilePermission> permissions) {
    return isKnown(path)
        ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(permissions)}
        : new FileAttribute<?>[0];
  }

  private static boolean isKnown(Path file) {
    return file.getFileSystem().supportedFileAttributeViews().contains("posix");
  }

  /** Restricts a file to its owner. */
  public static void restrict(Path file) throws IOException {
    PosixFileAttributeView view = view(file);
    if (view != null) {
      view.setPermissions(OWNER_ONLY);
    }
  }

  /**
   * Checks that an existing file is a regular file that only its owner can access. Do not check a
   * file that this process has just created: the check would fail on file systems without
   * permissions.
   *
   * @throws IOException if the file is of another kind, or other users can access it
   */
  public static void checkOwnersAlone(Path file) throws IOException {
    Class<? extends BasicFileAttributes> kind =
        isKnown(file) ? PosixFileAttributes.class : BasicFileAttributes.class;
    BasicFileAttributes attributes = Files.readAttributes(file, kind, LinkOption.NOFOLLOW_LINKS);
    boolean reached =
        attributes instanceof PosixFileAttributes posix
            && !OWNER_ONLY.containsAll(posix.permissions());
    if (!attributes.isRegularFile() || reached) {
      throw new IOException("it is no file of this user alone; delete it");
    }
  }

  /**
   * Returns an object that identifies a file independently of its name. Does not follow a link.
   * Returns null if the file system has no identifiers.
   */
  public static @Nullable Object key(Path file) throws IOException {
    return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
        .fileKey();
  }

  /**
   * Sets the permissions of a file to those of the file that it will replace, and its owner and
   * group if the system allows it.
   */
  public static void passOn(Path replaced, Path file) throws IOException {
    PosixFileAttributeView before = view(replaced);
    PosixFileAttributeView view = view(file);
    if (before == null || view == null) {
      return;
    }
    PosixFileAttributes attributes = before.readAttributes();
    String permissions = PosixFilePermissions.toString(attributes.permissions());
    if (!attributes.owner().equals(view.readAttributes().owner())) {
      try {
        view.setOwner(attributes.owner());
      } catch (IOException _) {
        // The system allows this only for root. The file stays ours.
      }
    }
    if (!attributes.group().equals(view.readAttributes().group())) {
      try {
        view.setGroup(attributes.group());
      } catch (IOException _) {
        // The system refused. The group, which is our own, gets only the rights of all others.
        permissions = permissions.substring(0, 3) + permissions.substring(6).repeat(2);
      }
    }
    view.setPermissions(PosixFilePermissions.fromString(permissions));
  }

  private static @Nullable PosixFileAttributeView view(Path file) {
    return Files.getFileAttributeView(
        file, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
  }
}
