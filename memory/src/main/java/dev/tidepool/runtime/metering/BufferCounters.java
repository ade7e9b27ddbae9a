package dev.tidepool.runtime.metering;

import dev.tidepool.diagnostics.BufferMetrics;
import dev.tidepool.link.Direction;
import dev.tidepool.spi.support.FieldHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.time.Instant;

/**
 * Counts the transfers of one storage, and how often the newest bytes were already where they were
 * needed. Thread-safe. Views that several threads take at the same moment may be counted too low.
 */
public final class BufferCounters {
  private static final VarHandle VIEWS =
      FieldHandle.of(MethodHandles.lookup(), "views", long.class);

  private long hostToDevice;
  private long deviceToHost;
  private long count;
  private long nanos;
  private long hits;
  private long misses;

  // Not under the monitor, because taking the current view again costs less than a lock.
  @SuppressWarnings("unused") // accessed by its VarHandle
  private long views;

  public synchronized void moved(Direction direction, long bytes, long elapsedNanos) {
    if (direction == Direction.HOST_TO_DEVICE) {
      hostToDevice += bytes;
    } else {
      deviceToHost += bytes;
    }
    count++;
    nanos += elapsedNanos;
  }

  /** Counts an access, and whether it found the newest bytes where it needed them. */
  public synchronized void accessed(boolean found) {
    if (found) {
      hits++;
    } else {
      misses++;
    }
  }

  /** Counts accesses that found the newest bytes where they needed them. */
  public synchronized void accessed(long found) {
    hits += found;
  }

  /** Counts a view that was still current. */
  public void viewed() {
    VIEWS.setOpaque(this, (long) VIEWS.getOpaque(this) + 1);
  }

  public synchronized BufferMetrics metrics(Instant lastAccess) {
    return new BufferMetrics(
        hostToDevice,
        deviceToHost,
        count,
        Duration.ofNanos(nanos),
        lastAccess,
        hits + (long) VIEWS.getOpaque(this),
        misses);
  }
}
