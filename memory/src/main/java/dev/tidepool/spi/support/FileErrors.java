package dev.tidepool.spi.support;

import dev.tidepool.TransferException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** Says in words why the file system refused. */
public final class FileErrors {
  private FileErrors() {}

  /**
   * Returns the exception for an access that failed.
   *
   * @param action what was tried, such as "read"
   * @param file what it was tried on
   */
  public static TransferException failed(String action, Object file, Exception e) {
    return new TransferException("cannot " + action + " " + file + ": " + reason(e), e);
  }

  /** Returns the reason, without the path. */
  public static String reason(Exception e) {
    return switch (e) {
      case AccessDeniedException _ -> "permission denied";
      case NoSuchFileException _ -> "no such file or folder";
      case FileAlreadyExistsException _ -> "it exists";
      case NotDirectoryException _ -> "it is no folder";
      case FileSystemException f when f.getReason() != null -> f.getReason();
      default -> e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    };
  }
}
