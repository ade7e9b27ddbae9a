package dev.tidepool.runtime;

import dev.tidepool.BufferMetrics;
import dev.tidepool.transfer.Direction;
import java.time.Duration;
import java.time.Instant;

/** What was moved for one storage. Safe for use by any thread. */
final class Movements {
  private long hostToDevice;
  private long deviceToHost;
  private long count;
  private long nanos;
  private long hits;
  private long misses;

  synchronized void moved(Direction direction, long bytes, long elapsedNanos) {
    if (direction == Direction.HOST_TO_DEVICE) {
      hostToDevice += bytes;
    } else {
      deviceToHost += bytes;
    }
    count++;
    nanos += elapsedNanos;
  }

  /** Counts an access that found the newest bytes where it needed them, or did not. */
  synchronized void accessed(boolean found) {
    if (found) {
      hits++;
    } else {
      misses++;
    }
  }

  synchronized BufferMetrics metrics(Instant lastAccess) {
    return new BufferMetrics(
        hostToDevice, deviceToHost, count, Duration.ofNanos(nanos), lastAccess, hits, misses);
  }
}
