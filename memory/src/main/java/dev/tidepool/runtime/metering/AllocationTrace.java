package dev.tidepool.runtime.metering;

import dev.tidepool.MemoryLocation;
import dev.tidepool.TransferException;
import dev.tidepool.spi.support.Closing;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.spi.support.FilePermissions;
import java.io.FileOutputStream;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/**
 * A session's allocations and frees, written to a file in the order in which they happened.
 *
 * <p>The file is text. Its first line is {@code tidepool-trace 1}. Every other line is {@code +
 * NUMBER BYTES LOCATION} for an allocated buffer, or {@code - NUMBER} when its memory is returned.
 * That is later than the close if an operation was still using the buffer. Numbers are unique.
 *
 * <p>A thread that allocates or frees only adds to a queue. The monitor guards the file; only the
 * maintenance thread and {@link #close} take it, and they write while they hold it.
 */
public final class AllocationTrace implements AutoCloseable {
  static final String HEADER = "tidepool-trace 1";

  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  /** The number of characters after which text is written. */
  private static final int PIECE = 64 << 10;

  /** The number of sessions of this process that have recorded to a path. */
  private static final Map<Path, Integer> SESSIONS = new ConcurrentHashMap<>();

  private static final long FREED = -1;

  /**
   * One line.
   *
   * @param bytes of the allocation, or {@link #FREED}
   */
  private record Event(long number, long bytes, @Nullable MemoryLocation location) {
    void appendTo(StringBuilder text) {
      if (bytes == FREED) {
        text.append("- ").append(number).append('\n');
      } else {
        text.append("+ ").append(number).append(' ').append(bytes);
        text.append(' ').append(location).append('\n');
      }
    }
  }

  private final Path file;
  private final Queue<Event> events = new ConcurrentLinkedQueue<>();
  private volatile boolean ended;
  // Guarded by this.
  private final FileOutputStream stream;

  private AllocationTrace(Path file, FileOutputStream stream) {
    this.file = file;
    this.stream = stream;
  }

  /**
   * Creates a trace file that only its owner can read. An existing file is replaced, unless an
   * earlier session of this process recorded to it. Then the session's number is appended to the
   * name.
   *
   * @throws TransferException if the file cannot be written
   */
  public static AllocationTrace open(Path wanted) {
    int session = SESSIONS.merge(wanted.toAbsolutePath().normalize(), 1, Integer::sum);
    Path file = session == 1 ? wanted : Path.of(wanted + "." + session);
    try {
      FileOutputStream stream = create(file);
      AllocationTrace trace = new AllocationTrace(file, stream);
      try {
        trace.write(HEADER + "\n");
        return trace;
      } catch (IOException e) {
        trace.close();
        throw e;
      }
    } catch (IOException | UnsupportedOperationException e) {
      throw new TransferException(
          "cannot write the trace " + file + ": " + FileErrors.reason(e) + "; name another file",
          e);
    }
  }

  /** Opens a stream: an interrupt of the thread that closes the session would close a channel. */
  private static FileOutputStream create(Path file) throws IOException {
    // A symbolic link or a pipe is kept, and written to.
    if (Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
      Files.delete(file);
    }
    if (Files.notExists(file)) {
      Files.createFile(file, FilePermissions.ownerOnly(file));
    }
    return new FileOutputStream(file.toFile());
  }

  public void allocated(long number, long bytes, MemoryLocation location) {
    add(new Event(number, bytes, location));
  }

  public void freed(long number) {
    add(new Event(number, FREED, null));
  }

  private void add(Event event) {
    if (!ended) {
      events.add(event);
    }
  }

  /** Writes the events so far. If this fails, logs a warning and ends the recording. */
  public void write() {
    synchronized (this) {
      if (ended) {
        return;
      }
      try {
        writeEvents();
      } catch (IOException e) {
        ended = true;
        LOG.log(
            Level.WARNING,
            "the trace "
                + file
                + " ends here because it cannot be written: "
                + FileErrors.reason(e),
            e);
      }
      if (ended) {
        events.clear();
      }
    }
  }

  private void writeEvents() throws IOException {
    StringBuilder text = new StringBuilder();
    Event event = events.poll();
    while (event != null) {
      event.appendTo(text);
      event = events.poll();
      if (event == null || text.length() >= PIECE) {
        write(text);
        text.setLength(0);
      }
    }
  }

  private void write(CharSequence text) throws IOException {
    synchronized (this) {
      stream.write(text.toString().getBytes(StandardCharsets.US_ASCII));
    }
  }

  /** Writes the remaining events and ends the recording. */
  @Override
  public void close() {
    write();
    synchronized (this) {
      ended = true;
      Closing.surviving("the trace " + file, stream);
    }
    events.clear();
  }
}
