package dev.tidepool.stream.pipeline;

import dev.tidepool.TransferException;
import dev.tidepool.spi.support.FileErrors;
import dev.tidepool.spi.support.Uninterruptibly;
import dev.tidepool.stream.chunk.ChunkScheduler.Range;
import dev.tidepool.stream.file.AtomicFile;
import dev.tidepool.stream.file.LockedFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32;

/**
 * Records which ranges of a computation are on disk, in a file beside its first result, so that the
 * work can be continued after a crash, a kill or a power failure.
 *
 * <p><b>Order.</b> A range is recorded only after its results were forced to the disk. So what the
 * journal says is true. At most the work of {@value #SECONDS} seconds and the chunks in flight are
 * repeated.
 *
 * <p><b>Form.</b> The file has lines, each with the checksum of its text: a description of the
 * work, then ranges, and at the end the results that are put in their places. A damaged line and
 * all lines after it are ignored. Only the owner can access the file, and a process that works on
 * it locks it.
 *
 * <p>Threads: any thread may call {@link #written}. Of several threads, one forces the disk, and
 * the others continue at once. Nothing is forced under the monitor.
 */
public final class Journal implements AutoCloseable {
  /**
   * Something that the work depends on.
   *
   * @param what its name in messages
   * @param value its current value
   */
  public record Trait(String what, String value) {
    public static Trait scalar(String name, Object value) {
      return new Trait("the scalar '" + name + "'", "" + value);
    }

    String line() {
      return "is " + what.replaceAll("\\s", "_") + " " + value.replaceAll("\\s+", " ");
    }
  }

  /** Forces everything written so far to the disk. */
  public interface Results {
    void force() throws IOException;
  }

  private static final int SECONDS = 1;
  private static final long INTERVAL_NANOS = SECONDS * 1_000_000_000L;
  // Forcing takes at most this part of the time.
  private static final int SELDOM = 10;
  private static final String FIRST = "tidepool journal 1";
  private static final String DONE = "done ";

  private final Path path;
  private final LockedFile file;
  private final FileChannel channel;
  private final List<String> found;

  // Guarded by the monitor.
  private List<Range> waiting = new ArrayList<>();
  private boolean forcing;
  private long next = System.nanoTime() + INTERVAL_NANOS;

  private Journal(Path path, LockedFile file) throws IOException {
    this.path = path;
    this.file = file;
    this.channel = file.channel();
    try {
      this.found = lines(channel);
    } catch (IOException | RuntimeException | Error e) {
      file.close();
      throw e;
    }
  }

  /**
   * Returns the journal beside a result, locked; empty if there was none.
   *
   * @throws TransferException if another process works on it, it is not this user's, or the disk
   *     fails
   */
  public static Journal open(Path target) {
    Path path = beside(target);
    try {
      return Uninterruptibly.shielded(() -> new Journal(path, LockedFile.open(path)));
    } catch (IOException e) {
      throw FileErrors.failed("open", path, e);
    }
  }

  /** Returns the path of the journal. A result has one journal, also if links lead to it. */
  private static Path beside(Path target) {
    try {
      Path file = AtomicFile.place(target);
      return file.resolveSibling("." + file.getFileName() + ".tidepool-journal");
    } catch (IOException e) {
      throw FileErrors.failed("find", target, e);
    }
  }

  /** Returns the whole lines, up to the first that is damaged. */
  private static List<String> lines(FileChannel channel) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(channel.size()));
    while (bytes.hasRemaining() && channel.read(bytes, bytes.position()) > 0) {
      // Until all is read.
    }
    String text = new String(bytes.array(), 0, bytes.position(), StandardCharsets.UTF_8);
    List<String> lines = new ArrayList<>();
    int start = 0;
    for (int end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      String line = text.substring(start, end);
      int space = line.indexOf(' ');
      if (space < 0 || !line.substring(0, space).equals(checksum(line.substring(space + 1)))) {
        break;
      }
      lines.add(line.substring(space + 1));
      start = end + 1;
    }
    // The next line must not follow a damaged one.
    channel.truncate(text.substring(0, start).getBytes(StandardCharsets.UTF_8).length);
    return lines;
  }

  private static String checksum(String text) {
    CRC32 sum = new CRC32();
    sum.update(text.getBytes(StandardCharsets.UTF_8));
    return Long.toHexString(sum.getValue());
  }

  /** Returns whether an earlier run has begun the journal. */
  public boolean isBegun() {
    return !found.isEmpty();
  }

  /** Returns the note of the earlier run under a name; empty if there is none. */
  public String noted(String name) {
    return last("note " + name + " ");
  }

  /** Returns the last note of {@link #placing} about a result; empty if there is none. */
  public String placed(String name) {
    return last("place " + name + " ");
  }

  private String last(String key) {
    return found.reversed().stream()
        .filter(line -> line.startsWith(key))
        .map(line -> line.substring(key.length()))
        .findFirst()
        .orElse("");
  }

  /** Returns what differs from the earlier run; empty if nothing does. */
  public String change(List<Trait> work) {
    if (!found.getFirst().equals(FIRST)) {
      return "its journal is of another version";
    }
    List<String> before = found.stream().filter(line -> line.startsWith("is ")).toList();
    for (Trait trait : work) {
      if (!before.contains(trait.line())) {
        return trait.what() + " has changed";
      }
    }
    return before.size() == work.size() ? "" : "the work has changed";
  }

  /** Forgets an earlier run and begins another one. */
  public void begin(List<Trait> work, Map<String, String> notes) {
    List<String> lines = new ArrayList<>(List.of(FIRST));
    work.forEach(trait -> lines.add(trait.line()));
    notes.forEach((name, value) -> lines.add("note " + name + " " + value));
    found.clear();
    try {
      Uninterruptibly.shielded(
          () -> {
            channel.truncate(0);
            return append(lines);
          });
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /** Writes a note for each result, before the first one is put in its place. */
  public void placing(Map<String, String> notes) {
    List<String> lines = new ArrayList<>();
    notes.forEach((name, value) -> lines.add("place " + name + " " + value));
    try {
      Uninterruptibly.shielded(() -> append(lines));
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /** Returns the ranges of {@code length} elements that no earlier run has done, in order. */
  public List<Range> left(long length) {
    TreeMap<Long, Long> done = new TreeMap<>();
    for (String line : found) {
      if (line.startsWith(DONE)) {
        String[] numbers = line.substring(DONE.length()).split(" ", -1);
        done.merge(Long.parseLong(numbers[0]), Long.parseLong(numbers[1]), Math::max);
      }
    }
    List<Range> left = new ArrayList<>();
    long at = 0;
    for (Map.Entry<Long, Long> range : done.entrySet()) {
      if (range.getKey() > at) {
        left.add(new Range(at, range.getKey() - at));
      }
      at = Math.max(at, range.getKey() + range.getValue());
    }
    if (at < length) {
      left.add(new Range(at, length - at));
    }
    return left;
  }

  /** Records that a range was written. From time to time, forces the results to the disk. */
  public void written(Range range, Results results) {
    synchronized (this) {
      waiting.add(range);
      if (forcing || System.nanoTime() - next < 0) {
        return;
      }
      forcing = true;
    }
    force(results);
  }

  /** Forces the results to the disk, and records all written ranges. */
  public void force(Results results) {
    List<Range> batch;
    synchronized (this) {
      batch = waiting;
      waiting = new ArrayList<>();
    }
    long start = System.nanoTime();
    try {
      if (!batch.isEmpty()) {
        results.force();
        Uninterruptibly.shielded(() -> append(merged(batch)));
      }
    } catch (IOException e) {
      throw failed(e);
    } finally {
      long now = System.nanoTime();
      synchronized (this) {
        forcing = false;
        next = now + Math.max(INTERVAL_NANOS, SELDOM * (now - start));
      }
    }
  }

  private static List<String> merged(List<Range> ranges) {
    TreeMap<Long, Long> ends = new TreeMap<>();
    ranges.forEach(range -> ends.put(range.from(), range.end()));
    List<String> lines = new ArrayList<>();
    while (!ends.isEmpty()) {
      Map.Entry<Long, Long> first = ends.pollFirstEntry();
      long end = first.getValue();
      for (Long more = ends.remove(end); more != null; more = ends.remove(end)) {
        end = more;
      }
      lines.add(DONE + first.getKey() + " " + (end - first.getKey()));
    }
    return lines;
  }

  private FileChannel append(List<String> lines) throws IOException {
    StringBuilder text = new StringBuilder();
    lines.forEach(line -> text.append(checksum(line)).append(' ').append(line).append('\n'));
    ByteBuffer bytes = ByteBuffer.wrap(text.toString().getBytes(StandardCharsets.UTF_8));
    long position = channel.size();
    while (bytes.hasRemaining()) {
      position += channel.write(bytes, position);
    }
    channel.force(true);
    return channel;
  }

  private TransferException failed(IOException e) {
    return FileErrors.failed("write", path, e);
  }

  /** Deletes the journal, because the work is done. */
  public void delete() {
    try {
      file.delete();
    } catch (IOException e) {
      throw FileErrors.failed("delete", path, e);
    }
  }

  /** Closes the journal, which stays for a later run. Idempotent. */
  @Override
  public void close() {
    FileErrors.close(path, file);
  }
}
