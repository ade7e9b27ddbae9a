package dev.tidepool.cuda.ipc;

import dev.tidepool.TransferException;
import dev.tidepool.spi.support.FailureLog;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * Reports to the creator of a shared object when no process has the object any more. Each process
 * that has it holds the writing end of a pipe, which it gets as a descriptor ({@link
 * DescriptorExchange}). The system closes the writing end of a process that dies. When the last one
 * is closed, the creator's reading end reports the end. No byte is written.
 *
 * <p>On Linux only. Safe for use by any thread.
 */
public final class LivenessPipe implements AutoCloseable {
  private static final Path PROCESSES = Path.of("/proc");
  private static final long PAUSE_NANOS = 2_000_000;

  private final int reading;
  private final AtomicBoolean closed = new AtomicBoolean();

  private LivenessPipe(int reading) {
    this.reading = reading;
  }

  /**
   * A new pipe.
   *
   * @param hold reports when every writing end is closed
   * @param descriptor the first writing end; the receiver closes it
   */
  public record Begun(LivenessPipe hold, int descriptor) {}

  /**
   * Creates a pipe with one writing end.
   *
   * @throws TransferException if the system has no descriptors left
   */
  public static Begun begin() {
    try {
      int[] ends = PipeCalls.pipe();
      return new Begun(new LivenessPipe(ends[0]), ends[1]);
    } catch (IOException e) {
      throw new TransferException("nothing can be shared now: " + e, e);
    }
  }

  /**
   * Duplicates a descriptor. The caller closes the new one.
   *
   * @throws TransferException if the system has no descriptors left
   */
  public static int another(int descriptor) {
    try {
      return PipeCalls.duplicate(descriptor);
    } catch (IOException e) {
      throw new TransferException("nothing can be shared now: " + e, e);
    }
  }

  /**
   * Waits until every writing end is closed.
   *
   * @param millis how long to wait at most; a negative number waits without limit, on a platform
   *     thread
   * @return whether every writing end is closed
   */
  public boolean isOver(int millis) {
    for (; ; ) {
      try {
        return PipeCalls.hasEnded(reading, millis);
      } catch (IOException e) {
        // A signal interrupted the wait.
        FailureLog.debug("a wait is repeated", e);
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  /** Returns the other processes that have a writing end, as far as this process can see. */
  public List<Long> holders() {
    List<Long> holders = new ArrayList<>();
    long own = ProcessHandle.current().pid();
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROCESSES, "[1-9]*")) {
      Path pipe = Files.readSymbolicLink(PROCESSES.resolve("self/fd/" + reading));
      for (Path process : processes) {
        long id = Long.parseLong(process.getFileName().toString());
        if (id != own && hasOpen(process, pipe)) {
          holders.add(id);
        }
      }
    } catch (IOException | DirectoryIteratorException | NumberFormatException e) {
      FailureLog.debug(PROCESSES + " does not tell which processes have a pipe", e);
    }
    return holders;
  }

  private static boolean hasOpen(Path process, Path pipe) {
    try (DirectoryStream<Path> open = Files.newDirectoryStream(process.resolve("fd"))) {
      for (Path link : open) {
        if (leadsTo(link, pipe)) {
          return true;
        }
      }
      return false;
    } catch (IOException | DirectoryIteratorException anothersOrGone) {
      return false;
    }
  }

  private static boolean leadsTo(Path link, Path target) {
    try {
      return Files.readSymbolicLink(link).equals(target);
    } catch (IOException closedMeanwhile) {
      return false;
    }
  }

  /** Closes the reading end. Idempotent, and throws nothing. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      SocketCalls.close(reading);
    }
  }
}
