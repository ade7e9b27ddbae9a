package dev.tidepool.transfer;

import dev.tidepool.TransferCalibration;
import dev.tidepool.TransferCalibration.Cost;
import dev.tidepool.TransferCalibration.Leg;
import dev.tidepool.TransferStatistics;
import dev.tidepool.TransferWay;
import dev.tidepool.WayStatistics;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** Adds up what was moved. Safe for use by any thread; exact when no transfer is under way. */
public final class TransferMeter {
  /** The sums of one direction, or of one way. */
  private static final class Sums {
    private final LongAdder bytes = new LongAdder();
    private final LongAdder count = new LongAdder();
    private final LongAdder nanos = new LongAdder();

    void add(long byteCount, long elapsedNanos) {
      bytes.add(byteCount);
      count.increment();
      nanos.add(elapsedNanos);
    }

    Duration time() {
      return Duration.ofNanos(nanos.sum());
    }

    WayStatistics statistics() {
      return new WayStatistics(count.sum(), bytes.sum(), time());
    }
  }

  private final Sums upward = new Sums();
  private final Sums downward = new Sums();
  private final Sums across = new Sums();
  private final LongAdder staged = new LongAdder();
  private final Map<TransferWay, Sums> ways = new EnumMap<>(TransferWay.class);
  private final LongAdder retries = new LongAdder();

  /** A meter at zero. */
  public TransferMeter() {
    for (TransferWay way : TransferWay.values()) {
      ways.put(way, new Sums());
    }
  }

  /** Counts one movement that succeeded. */
  public void moved(Direction direction, long byteCount, long elapsedNanos, TransferWay way) {
    Sums sums =
        switch (direction) {
          case HOST_TO_DEVICE -> upward;
          case DEVICE_TO_HOST -> downward;
          case DEVICE_TO_DEVICE -> across;
        };
    sums.add(byteCount, elapsedNanos);
    of(way).add(byteCount, elapsedNanos);
    if (way.isStaged()) {
      staged.add(byteCount);
    }
  }

  /** Counts a copy from buffer to buffer within the host's memory. */
  public void copiedOnHost(long byteCount, long elapsedNanos) {
    of(TransferWay.SAME_MEMORY).add(byteCount, elapsedNanos);
  }

  @SuppressWarnings("NullAway") // every way has its sums from the constructor on
  private Sums of(TransferWay way) {
    return ways.get(way);
  }

  /** Counts a transfer that is tried again. */
  public void retried() {
    retries.increment();
  }

  /**
   * The sums now.
   *
   * @param calibration what the links can do at best; null if that is not known
   */
  public TransferStatistics statistics(@Nullable TransferCalibration calibration) {
    Map<TransferWay, WayStatistics> used = new EnumMap<>(TransferWay.class);
    ways.forEach(
        (way, sums) -> {
          if (sums.count.sum() > 0) {
            used.put(way, sums.statistics());
          }
        });
    return new TransferStatistics(
        upward.bytes.sum(),
        upward.count.sum(),
        upward.time(),
        downward.bytes.sum(),
        downward.count.sum(),
        downward.time(),
        across.bytes.sum(),
        across.count.sum(),
        staged.sum(),
        across.time(),
        used,
        peak(calibration, Leg.PINNED_UP, Leg.PLAIN_UP),
        peak(calibration, Leg.PINNED_DOWN, Leg.PLAIN_DOWN),
        peak(calibration, Leg.LOCAL),
        retries.sum());
  }

  /** The best of some legs. */
  private static double peak(@Nullable TransferCalibration calibration, Leg... legs) {
    double best = Double.NaN;
    for (Leg leg : legs) {
      Cost cost = calibration == null ? null : calibration.legs().get(leg);
      if (cost != null && !(cost.peak() <= best)) {
        best = cost.peak();
      }
    }
    return best;
  }
}
