package dev.tidepool.stream.file;

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

/** Who reaches a file of ours, where the file system knows such a thing. */
public final class FilePermissions {
  private static final Set<PosixFilePermission> OWNER_ONLY =
      PosixFilePermissions.fromString("rw-------");

  private FilePermissions() {}

  /** What makes a new file its owner's alone, from its first byte. */
  public static FileAttribute<?>[] ownerOnly(Path file) {
    return isKnown(file)
        ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(OWNER_ONLY)}
        : new FileAttribute<?>[0];
  }

  private static boolean isKnown(Path file) {
    return file.getFileSystem().supportedFileAttributeViews().contains("posix");
  }

  /** Makes a file its owner's alone. */
  public static void restrict(Path file) throws IOException {
    PosixFileAttributeView view = view(file);
    if (view != null) {
      view.setPermissions(OWNER_ONLY);
    }
  }

  /**
   * Checks a file that somebody made; one that was just made needs none, for some file systems keep
   * no permissions.
   *
   * @throws IOException if it is no regular file, or others reach it
   */
  static void checkOwnersAlone(Path file) throws IOException {
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

  /** Tells a file from others; of a link itself. Null where the system tells nothing. */
  static @Nullable Object key(Path file) throws IOException {
    return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
        .fileKey();
  }

  /** Lets those reach a file of its owner's alone who reach the one that it will replace. */
  public static void passOn(Path replaced, Path file) throws IOException {
    PosixFileAttributeView before = view(replaced);
    PosixFileAttributeView view = view(file);
    if (before == null || view == null) {
      return;
    }
    PosixFileAttributes attributes = before.readAttributes();
    String permissions = PosixFilePermissions.toString(attributes.permissions());
    if (!attributes.group().equals(view.readAttributes().group())) {
      try {
        view.setGroup(attributes.group());
      } catch (IOException _) {
        // Not ours to give; and those of our own group were meant as all others are.
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
