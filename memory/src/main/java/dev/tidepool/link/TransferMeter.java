package dev.tidepool.link;

import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferCalibration.Cost;
import dev.tidepool.transfer.TransferCalibration.Leg;
import dev.tidepool.transfer.TransferStatistics;
import dev.tidepool.transfer.TransferWay;
import dev.tidepool.transfer.WayStatistics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** Adds up the transferred bytes. Thread-safe; exact when no transfer is in progress. */
public final class TransferMeter {
  /** The sums of one path in one direction. */
  private static final class Sums {
    private final LongAdder bytes = new LongAdder();
    private final LongAdder count = new LongAdder();
    private final LongAdder nanos = new LongAdder();

    void add(long byteCount, long elapsedNanos) {
      bytes.add(byteCount);
      count.increment();
      nanos.add(elapsedNanos);
    }
  }

  private final Map<TransferWay, Sums> upward = eachWay();
  private final Map<TransferWay, Sums> downward = eachWay();
  private final Map<TransferWay, Sums> across = eachWay();
  private final Sums onHost = new Sums();
  private final LongAdder retries = new LongAdder();

  public TransferMeter() {}

  private static Map<TransferWay, Sums> eachWay() {
    Map<TransferWay, Sums> ways = new EnumMap<>(TransferWay.class);
    for (TransferWay way : TransferWay.values()) {
      ways.put(way, new Sums());
    }
    return ways;
  }

  /** Counts one successful movement. */
  public void moved(Direction direction, long byteCount, long elapsedNanos, TransferWay way) {
    Map<TransferWay, Sums> ways =
        switch (direction) {
          case HOST_TO_DEVICE -> upward;
          case DEVICE_TO_HOST -> downward;
          case DEVICE_TO_DEVICE -> across;
        };
    of(ways, way).add(byteCount, elapsedNanos);
  }

  /** Counts a copy between buffers within the host's memory. */
  public void copiedOnHost(long byteCount, long elapsedNanos) {
    onHost.add(byteCount, elapsedNanos);
  }

  @SuppressWarnings("NullAway") // every path has its sums since the constructor
  private static Sums of(Map<TransferWay, Sums> ways, TransferWay way) {
    return ways.get(way);
  }

  /** Counts a transfer that is retried. */
  public void retried() {
    retries.increment();
  }

  /**
   * Returns the current sums.
   *
   * @param calibration the peak rates of the links, or null if they are not known
   */
  public TransferStatistics statistics(@Nullable TransferCalibration calibration) {
    Map<TransferWay, WayStatistics> used = new EnumMap<>(TransferWay.class);
    long staged = 0;
    for (TransferWay way : TransferWay.values()) {
      List<Sums> sums =
          new ArrayList<>(List.of(of(upward, way), of(downward, way), of(across, way)));
      if (way == TransferWay.SAME_MEMORY) {
        sums.add(onHost);
      }
      WayStatistics all = total(sums);
      if (all.transfers() > 0) {
        used.put(way, all);
      }
      staged += way.isStaged() ? all.bytes() : 0;
    }
    WayStatistics up = total(upward.values());
    WayStatistics down = total(downward.values());
    WayStatistics sideways = total(across.values());
    return new TransferStatistics(
        up.bytes(),
        up.transfers(),
        up.time(),
        down.bytes(),
        down.transfers(),
        down.time(),
        sideways.bytes(),
        sideways.transfers(),
        staged,
        sideways.time(),
        used,
        peak(calibration, Leg.PINNED_UP, Leg.PLAIN_UP),
        peak(calibration, Leg.PINNED_DOWN, Leg.PLAIN_DOWN),
        peak(calibration, Leg.LOCAL),
        retries.sum());
  }

  private static WayStatistics total(Collection<Sums> parts) {
    long bytes = 0;
    long count = 0;
    long nanos = 0;
    for (Sums part : parts) {
      bytes += part.bytes.sum();
      count += part.count.sum();
      nanos += part.nanos.sum();
    }
    return new WayStatistics(count, bytes, Duration.ofNanos(nanos));
  }

  /** Returns the best rate of some legs. */
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
