package dev.tidepool.host;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The use of some memory. Exact when no thread is allocating or freeing.
 *
 * @param blocks the number of live blocks
 * @param bytes the bytes that they occupy
 * @param peakBytes the peak of {@code bytes}
 * @param totalBlocks the number of blocks ever allocated
 */
public record UsageCounter(long blocks, long bytes, long peakBytes, long totalBlocks) {
  /** Counts the use. */
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
