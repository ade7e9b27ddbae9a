package dev.tidepool.spi.support;

import dev.tidepool.ElementType;
import dev.tidepool.TransferException;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;

/** Describes failures of the file system. */
public final class FileErrors {
  /** The reason that Linux and macOS give when a process has no file descriptor left. */
  private static final String NO_DESCRIPTOR = "Too many open files";

  /** The most links to follow: Linux follows 40, other systems fewer. */
  private static final int MOST_LINKS = 40;

  private FileErrors() {}

  /**
   * Returns the exception for an access that failed.
   *
   * @param action the failed action, such as "read"
   * @param file the file
   */
  public static TransferException failed(String action, Object file, Exception e) {
    return new TransferException("cannot " + action + " " + file + ": " + reason(e), e);
  }

  /** Returns the exception for a file to be read that does not exist. */
  public static TransferException missing(Path file, NoSuchFileException e) {
    if (!Files.isSymbolicLink(file)) {
      return new TransferException(file + " does not exist", e);
    }
    return new TransferException(
        file + " is a symbolic link to " + end(file) + ", which does not exist", e);
  }

  /** Returns the end of a chain of symbolic links, as far as it can be followed. */
  private static Path end(Path link) {
    Path end = link;
    try {
      for (int i = 0; i < MOST_LINKS && Files.isSymbolicLink(end); i++) {
        end = end.resolveSibling(Files.readSymbolicLink(end));
      }
    } catch (IOException _) {
      // The link has just been replaced; the path so far is sufficient.
    }
    return end;
  }

  /**
   * Closes a file.
   *
   * @throws TransferException if closing fails
   */
  public static void close(Path path, Closeable file) {
    try {
      file.close();
    } catch (IOException e) {
      throw failed("close", path, e);
    }
  }

  /**
   * Checks that a file is in the default file system, and not in a zip file, for example.
   *
   * @param action the intended action, such as "read"
   * @throws TransferException if the file is in another file system
   */
  public static void checkFileSystem(String action, Path file) {
    if (!file.getFileSystem().equals(FileSystems.getDefault())) {
      throw new TransferException(
          "cannot "
              + action
              + " "
              + file
              + " in "
              + file.getFileSystem()
              + ": it is of another file system; name a file of the default file system",
          null);
    }
  }

  /**
   * Returns the exception for a file whose size is not a whole number of elements.
   *
   * @param bytes the file's size
   */
  public static IllegalArgumentException noElements(Object file, long bytes, ElementType<?> type) {
    return new IllegalArgumentException(
        file
            + " has "
            + bytes
            + " bytes, which are no whole number of "
            + type
            + " elements of "
            + type.byteSize()
            + " bytes; name the type that it holds");
  }

  /** Returns the reason of a failure, without the path. */
  public static String reason(Exception e) {
    return switch (e) {
      case AccessDeniedException _ -> "permission denied";
      case NoSuchFileException _ -> "no such file or folder";
      case FileAlreadyExistsException _ -> "it exists";
      case NotDirectoryException _ -> "it is no folder";
      case FileSystemException f when f.getReason() != null -> advised(f.getReason());
      default -> e.getMessage() == null ? e.getClass().getSimpleName() : advised(e.getMessage());
    };
  }

  /**
   * Adds advice to a reason. Old classes of java.io put the system's reason in brackets after the
   * path.
   */
  private static String advised(String reason) {
    return reason.equals(NO_DESCRIPTOR) || reason.endsWith("(" + NO_DESCRIPTOR + ")")
        ? "too many files are open in this process (close some, or raise its limit, ulimit -n)"
        : reason;
  }
}
