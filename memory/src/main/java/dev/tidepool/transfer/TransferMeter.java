package dev.tidepool.transfer;

import dev.tidepool.TransferStatistics;
import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;

/** Adds up what was moved. Safe for use by any thread; exact when no transfer is under way. */
public final class TransferMeter {
  /** The sums of one direction. */
  private static final class Way {
    private final LongAdder bytes = new LongAdder();
    private final LongAdder count = new LongAdder();
    private final LongAdder nanos = new LongAdder();

    Duration time() {
      return Duration.ofNanos(nanos.sum());
    }
  }

  private final Way upward = new Way();
  private final Way downward = new Way();
  private final Way across = new Way();
  private final LongAdder staged = new LongAdder();

  /** A meter at zero. */
  public TransferMeter() {}

  /** Counts one movement that succeeded. */
  public void moved(
      Direction direction, long byteCount, long elapsedNanos, boolean throughStaging) {
    Way way =
        switch (direction) {
          case HOST_TO_DEVICE -> upward;
          case DEVICE_TO_HOST -> downward;
          case DEVICE_TO_DEVICE -> across;
        };
    way.bytes.add(byteCount);
    way.count.increment();
    way.nanos.add(elapsedNanos);
    if (throughStaging) {
      staged.add(byteCount);
    }
  }

  /** The sums now. */
  public TransferStatistics statistics() {
    return new TransferStatistics(
        upward.bytes.sum(),
        upward.count.sum(),
        upward.time(),
        downward.bytes.sum(),
        downward.count.sum(),
        downward.time(),
        across.bytes.sum(),
        across.count.sum(),
        staged.sum());
  }
}
