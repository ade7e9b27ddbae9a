package dev.tidepool.host;

import dev.tidepool.TransferException;
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
 * Tells who made something that processes share whether anybody has it still. Whoever has it holds
 * the writing end of a pipe, which is passed on like any descriptor ({@link DescriptorExchange}),
 * and which the system closes for a process that dies; when the last one is closed, the maker sees
 * its reading end end. Nothing is ever written.
 *
 * <p>On Linux only. Safe for use by any thread.
 */
public final class LivenessPipe implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(LivenessPipe.class.getName());
  private static final Path PROCESSES = Path.of("/proc");
  private static final long PAUSE_NANOS = 2_000_000;

  private final int reading;
  private final AtomicBoolean closed = new AtomicBoolean();

  private LivenessPipe(int reading) {
    this.reading = reading;
  }

  /**
   * What a maker begins with.
   *
   * @param hold tells when nobody has a writing end any more
   * @param descriptor the first writing end; the receiver's to close
   */
  public record Begun(LivenessPipe hold, int descriptor) {}

  /**
   * A hold that one descriptor keeps.
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
   * A further descriptor of what a descriptor stands for; the caller's to close.
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
   * Waits until nobody has it any more.
   *
   * @param millis at most; negative for ever, on a platform thread then
   * @return whether it is so
   */
  public boolean isOver(int millis) {
    for (; ; ) {
      try {
        return PipeCalls.hasEnded(reading, millis);
      } catch (IOException e) {
        // A signal came in between.
        LOG.log(System.Logger.Level.DEBUG, "a wait is begun anew", e);
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    }
  }

  /** The other processes that have it, as far as this one may know. */
  public List<Long> holders() {
    List<Long> holders = new ArrayList<>();
    long own = ProcessHandle.current().pid();
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROCESSES, "[1-9]*")) {
      Path pipe = Files.readSymbolicLink(PROCESSES.resolve("self/fd/" + reading));
      for (Path process : processes) {
        long id = Long.parseLong(process.getFileName().toString());
        if (id != own && has(process, pipe)) {
          holders.add(id);
        }
      }
    } catch (IOException | DirectoryIteratorException | NumberFormatException e) {
      LOG.log(System.Logger.Level.DEBUG, PROCESSES + " does not tell who has a pipe", e);
    }
    return holders;
  }

  private static boolean has(Path process, Path pipe) {
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

  /** Ends it for its maker. Idempotent, and throws nothing. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      SocketCalls.close(reading);
    }
  }
}
