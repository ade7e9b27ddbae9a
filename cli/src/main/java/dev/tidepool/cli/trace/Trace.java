package dev.tidepool.cli.trace;

import dev.tidepool.MemoryLocation;
import java.util.Arrays;

/**
 * The allocations and frees of a program, in order. Buffers are numbered from 0 in the order of
 * their allocation. Arrays hold the events, because a recorded program may have tens of millions.
 */
public final class Trace {
  private final String name;
  // The number of the buffer for an allocation; its complement for a free.
  private final int[] events;
  private final long[] bytes;
  private final MemoryLocation[] locations;

  private Trace(String name, int[] events, long[] bytes, MemoryLocation[] locations) {
    this.name = name;
    this.events = events;
    this.bytes = bytes;
    this.locations = locations;
  }

  /** Receives the events. */
  public interface Visitor {
    /** A buffer is allocated. */
    void allocated(int buffer, long bytes, MemoryLocation location);

    /** A buffer that was allocated before is freed. */
    void freed(int buffer);
  }

  /** Returns the name of the file. */
  public String name() {
    return name;
  }

  /** Returns the number of allocated buffers. */
  public int buffers() {
    return bytes.length;
  }

  /** Returns the number of allocations and frees. */
  public int events() {
    return events.length;
  }

  /** Returns the most bytes allocated at one time. */
  public long peakBytes() {
    long live = 0;
    long peak = 0;
    for (int event : events) {
      live += event >= 0 ? bytes[event] : -bytes[~event];
      peak = Math.max(peak, live);
    }
    return peak;
  }

  /** Visits a range of the events. */
  public void visit(int from, int to, Visitor visitor) {
    for (int i = from; i < to; i++) {
      int event = events[i];
      if (event >= 0) {
        visitor.allocated(event, bytes[event], locations[event]);
      } else {
        visitor.freed(~event);
      }
    }
  }

  /** Collects events. Not safe for concurrent use. */
  static final class Recorder {
    private int[] events = new int[1 << 10];
    private long[] bytes = new long[1 << 10];
    private MemoryLocation[] locations = new MemoryLocation[1 << 10];
    private int eventCount;
    private int bufferCount;

    /** Adds an allocation, and returns the number of its buffer. */
    int allocate(long size, MemoryLocation location) {
      if (bufferCount == bytes.length) {
        bytes = Arrays.copyOf(bytes, 2 * bufferCount);
        locations = Arrays.copyOf(locations, 2 * bufferCount);
      }
      bytes[bufferCount] = size;
      locations[bufferCount] = location;
      add(bufferCount);
      return bufferCount++;
    }

    /** Adds the free of an allocated buffer. */
    void free(int buffer) {
      add(~buffer);
    }

    private void add(int event) {
      if (eventCount == events.length) {
        events = Arrays.copyOf(events, 2 * eventCount);
      }
      events[eventCount++] = event;
    }

    /** Returns the trace of the events that were added. */
    Trace trace(String name) {
      return new Trace(
          name,
          Arrays.copyOf(events, eventCount),
          Arrays.copyOf(bytes, bufferCount),
          Arrays.copyOf(locations, bufferCount));
    }
  }
}
