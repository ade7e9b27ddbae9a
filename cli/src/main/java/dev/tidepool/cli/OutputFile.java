package dev.tidepool.cli;

import dev.tidepool.TransferException;
import dev.tidepool.spi.support.FailureText;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.stream.file.AtomicFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import org.jspecify.annotations.Nullable;

/**
 * A file to which a command writes a text. The complete file appears at once or not at all; a file
 * that it replaces is unchanged until then. A device or a pipe receives the text directly.
 */
final class OutputFile implements AutoCloseable {
  private final Path target;

  /** Null for a device or a pipe. */
  private final @Nullable AtomicFile file;

  private OutputFile(Path target, @Nullable AtomicFile file) {
    this.target = target;
    this.file = file;
  }

  /**
   * Creates a partial file beside the target.
   *
   * @param input the file that the command reads, which must not be replaced
   * @param overwrite whether an existing file is replaced
   * @param attributes the attributes of a new file
   * @throws WrongArguments if the file cannot be written there
   */
  static OutputFile begin(
      Path target, @Nullable Path input, boolean overwrite, FileAttribute<?>... attributes) {
    boolean exists = Files.exists(target);
    if (exists && overwrite && !Files.isRegularFile(target) && !Files.isDirectory(target)) {
      return new OutputFile(target, null);
    }
    if (exists && input != null && isSame(target, input)) {
      throw new WrongArguments(target + " is the file that is read; name another one to write");
    }
    try {
      return new OutputFile(
          target,
          AtomicFile.create(target, 0, overwrite, AtomicFile.newPartialName(), false, attributes));
    } catch (TransferException e) {
      throw new WrongArguments(told(e, target), e);
    }
  }

  private static String told(TransferException failure, Path target) {
    return failure.getCause() instanceof FileAlreadyExistsException
        ? target + " exists; --force replaces it"
        : FailureText.of(failure);
  }

  /** Returns whether two paths denote the same existing file. */
  static boolean isSame(Path target, Path input) {
    try {
      return Files.isSameFile(target, input);
    } catch (IOException _) {
      return false; // A file is missing; the command reports this when it needs the file.
    }
  }

  /**
   * Writes the complete text and makes the file appear.
   *
   * @throws TransferException if the text cannot be written, or the file appeared meanwhile
   */
  void write(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    try {
      if (file == null) {
        Files.write(target, bytes);
      } else {
        file.write(0, MemorySegment.ofArray(bytes));
        file.commit(bytes.length);
      }
    } catch (TransferException e) {
      throw new TransferException(told(e, target), e);
    } catch (IOException e) {
      throw FileErrors.failed("write", target, e);
    }
  }

  /** Deletes the partial file if it was not committed. */
  @Override
  public void close() {
    if (file != null) {
      file.close();
    }
  }
}
