package dev.tidepool.benchmarks.trace;

import dev.tidepool.MemoryLocation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;

/**
 * Writes a trace like the option {@code trace}; the user's guide describes the format. For one
 * thread.
 */
final class TraceWriter {
  private final Writer out;
  private int buffers;

  /** Writes the header. */
  TraceWriter(Writer out) {
    this.out = out;
    line("tidepool-trace 1");
  }

  /** Writes an allocation; returns the number of its buffer. */
  int allocate(long bytes, MemoryLocation location) {
    line("+ " + buffers + " " + bytes + " " + location);
    return buffers++;
  }

  /** Writes the free of a buffer. */
  void free(int buffer) {
    line("- " + buffer);
  }

  private void line(String text) {
    try {
      out.write(text + "\n");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
