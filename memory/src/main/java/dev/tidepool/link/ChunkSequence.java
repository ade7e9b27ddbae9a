package dev.tidepool.link;

import java.util.concurrent.atomic.AtomicLong;

/** The chunks of one transfer, which its threads claim one after another. */
final class ChunkSequence {
  private final long bytes;
  private final long step;
  private final AtomicLong next = new AtomicLong();

  ChunkSequence(long bytes, long step) {
    this.bytes = bytes;
    this.step = step;
  }

  /** Claims the next chunk. Returns its start, or -1 if there is none. */
  long take() {
    long at = next.getAndAdd(step);
    return at < bytes ? at : -1;
  }

  /** Returns the length of the chunk with this start. */
  long length(long at) {
    return Math.min(step, bytes - at);
  }

  /** Ends the sequence: no thread claims a further chunk. */
  void stop() {
    next.set(bytes);
  }
}
