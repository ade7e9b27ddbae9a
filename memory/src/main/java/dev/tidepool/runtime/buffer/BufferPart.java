package dev.tidepool.runtime.buffer;

import dev.tidepool.ElementType;
import dev.tidepool.runtime.metering.LeakGroup;
import dev.tidepool.runtime.storage.BufferCore;

/** The handle on a part of a buffer: a slice or a view. Closing it does not close the buffer. */
final class BufferPart<A> extends BufferHandle<A> {
  private final BufferCore core;
  private final long from;
  private final long count;
  private volatile boolean closed;

  BufferPart(BufferCore core, LeakGroup.Token token, ElementType<A> type, long from, long count) {
    super(token, type);
    this.core = core;
    this.from = from;
    this.count = count;
  }

  @Override
  public BufferCore core() {
    return core;
  }

  @Override
  public long from() {
    return from;
  }

  @Override
  long count() {
    return count;
  }

  @Override
  void checkOpen() {
    if (closed) {
      throw new IllegalStateException(
          "this slice or view of " + core + " is closed; take another from its root");
    }
    core.checkOpen();
  }

  @Override
  void end() {
    closed = true;
  }

  @Override
  public String toString() {
    return type() + "[" + count + "] at byte " + from + " of " + core;
  }
}
