package dev.tidepool.host;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How much of something is in use; exact when nothing is being allocated or freed.
 *
 * @param blocks that live now
 * @param bytes that they occupy
 * @param peakBytes the most that {@code bytes} has been
 * @param totalBlocks that there have been
 */
public record UsageCounter(long blocks, long bytes, long peakBytes, long totalBlocks) {
  /** Counts it. */
  static final class Gauge {
    private final AtomicLong blocks = new AtomicLong();
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong peak = new AtomicLong();
    private final AtomicLong total = new AtomicLong();

    void add(long added) {
      total.incrementAndGet();
      blocks.incrementAndGet();
      long now = bytes.addAndGet(added);
      if (now > peak.get()) {
        peak.accumulateAndGet(now, Math::max);
      }
    }

    void remove(long removed) {
      bytes.addAndGet(-removed);
      blocks.decrementAndGet();
    }

    UsageCounter usage() {
      return new UsageCounter(blocks.get(), bytes.get(), peak.get(), total.get());
    }
  }
}
