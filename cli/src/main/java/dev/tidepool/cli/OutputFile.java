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
 * A file that a command writes a text to. It appears whole or not at all; what it replaces stays as
 * it is until then. A device or a pipe takes the text as it comes.
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
   * Begins a file beside its place.
   *
   * @param input what the command reads, which stays
   * @param overwrite whether a file that exists is replaced
   * @param attributes of a file that is new
   * @throws WrongArguments if it cannot be written there
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

  /** Returns whether two paths lead to one file that exists. */
  static boolean isSame(Path target, Path input) {
    try {
      return Files.isSameFile(target, input);
    } catch (IOException _) {
      return false; // One is missing; the command reports it where it needs the file.
    }
  }

  /**
   * Writes the text, all of it, and makes the file appear.
   *
   * @throws TransferException if it cannot be written, or a file appeared there meanwhile
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

  /** Leaves nothing of a file that was not written. */
  @Override
  public void close() {
    if (file != null) {
      file.close();
    }
  }
}
