package dev.tidepool.cli.trace;

import dev.tidepool.MemoryLocation;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * Reads the files that the option {@code trace} writes. docs/guide/operating.md describes the
 * format. For one thread.
 */
public final class TraceFile {
  private static final String HEADER = "tidepool-trace 1";

  /** The greatest length of a line. */
  private static final int LONGEST_LINE = 100;

  private final Path file;
  private final Trace.Recorder recorder = new Trace.Recorder();
  private final Map<Long, Integer> open = new HashMap<>();
  private long lineNumber;

  private TraceFile(Path file) {
    this.file = file;
  }

  /**
   * Reads a file.
   *
   * @throws MalformedTraceException if the file is not a trace, or contradicts itself; the message
   *     names the line
   * @throws IOException if the file cannot be read
   */
  public static Trace read(Path file) throws IOException {
    return new TraceFile(file).read();
  }

  private Trace read() throws IOException {
    // Every byte is read as a character; others than ASCII are reported with their line.
    try (BufferedReader reader = Files.newBufferedReader(file, StandardCharsets.ISO_8859_1)) {
      if (!HEADER.equals(line(reader))) {
        throw wrong("this is no trace: it must begin with '" + HEADER + "'");
      }
      String line = line(reader);
      while (!line.isEmpty()) {
        event(line);
        line = line(reader);
      }
    }
    Path name = file.getFileName();
    return recorder.trace(name == null ? file.toString() : name.toString());
  }

  /** Returns the next line; empty at the end. Bounded, as other files may have no line breaks. */
  private String line(BufferedReader reader) throws IOException {
    lineNumber++;
    StringBuilder line = new StringBuilder();
    int next = reader.read();
    while (next >= 0 && next != '\n') {
      line.append((char) next);
      if (line.length() > LONGEST_LINE) {
        throw wrong("the line is too long");
      }
      next = reader.read();
    }
    if (next < 0 && !line.isEmpty()) {
      throw wrong("the file ends within the line; was the program stopped while it recorded?");
    }
    if (next == '\n' && line.isEmpty()) {
      throw wrong("the line is empty");
    }
    return line.toString();
  }

  private void event(String line) {
    String[] words = line.split(" ", -1);
    if (words.length == 4 && words[0].equals("+")) {
      allocation(number(words[1]), number(words[2]), location(words[3]));
    } else if (words.length == 2 && words[0].equals("-")) {
      free(number(words[1]));
    } else {
      throw wrong("'" + line + "' is neither '+ NUMBER BYTES LOCATION' nor '- NUMBER'");
    }
  }

  private void allocation(long number, long bytes, MemoryLocation location) {
    if (open.putIfAbsent(number, recorder.allocate(bytes, location)) != null) {
      throw wrong("buffer " + number + " is allocated again before it is freed");
    }
  }

  private void free(long number) {
    Integer buffer = open.remove(number);
    if (buffer == null) {
      throw wrong("buffer " + number + " is freed, but is not live");
    }
    recorder.free(buffer);
  }

  private long number(String text) {
    try {
      long number = Long.parseLong(text);
      if (number >= 0) {
        return number;
      }
    } catch (NumberFormatException _) {
      // Reported below.
    }
    throw wrong("'" + text + "' is no number from 0 to " + Long.MAX_VALUE);
  }

  private MemoryLocation location(String text) {
    for (MemoryLocation location : MemoryLocation.values()) {
      if (location.name().equals(text)) {
        return location;
      }
    }
    throw wrong("'" + text + "' is no location; there are DEVICE, HOST, PINNED and UNIFIED");
  }

  private MalformedTraceException wrong(String problem) {
    return new MalformedTraceException(file + ", line " + lineNumber + ": " + problem);
  }
}
