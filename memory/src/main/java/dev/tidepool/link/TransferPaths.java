package dev.tidepool.link;

import static dev.tidepool.transfer.TransferWay.DEVICE_LOCAL;
import static dev.tidepool.transfer.TransferWay.MAPPED_FILE;
import static dev.tidepool.transfer.TransferWay.PINNED_DIRECT;
import static dev.tidepool.transfer.TransferWay.PLAIN_DIRECT;
import static dev.tidepool.transfer.TransferWay.STAGED_PINNED;
import static dev.tidepool.transfer.TransferWay.STAGED_PLAIN;

import dev.tidepool.spi.Device;
import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferCalibration.Cost;
import dev.tidepool.transfer.TransferCalibration.Leg;
import dev.tidepool.transfer.TransferWay;
import java.lang.foreign.MemorySegment;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The table of transfer paths between the memory of a device and any other memory, and the choice
 * among them.
 *
 * <p>The paths of each kind of memory are in a static order, normally the best first. If the device
 * is calibrated, a later path is chosen if it is clearly cheaper, so that a small error of
 * measurement changes nothing. There is one instance for each {@link DeviceLink}; any thread may
 * use it.
 */
final class TransferPaths {
  /** The highest relative cost at which a later path replaces an earlier one. */
  private static final double CLEARLY = 0.8;

  /**
   * Without a calibration, at least this many transfers, of at most {@link #SMALL} bytes on
   * average, are scattered by one command.
   */
  private static final int FEW = 8;

  private static final long SMALL = 32 << 10;

  /** The approximate longest time of a chunk that needs no staging. */
  static final double CHUNK_NANOS = 2e6;

  /** The assumed ratio between the speed of copies on a device and the speed of its link. */
  private static final int FASTER_ON_DEVICE = 16;

  private static final Map<MemoryKind, List<TransferWay>> TO_DEVICE =
      new EnumMap<>(MemoryKind.class);

  static {
    TO_DEVICE.put(MemoryKind.PINNED, List.of(PINNED_DIRECT, STAGED_PLAIN));
    TO_DEVICE.put(MemoryKind.PLAIN, List.of(PLAIN_DIRECT, STAGED_PINNED));
    TO_DEVICE.put(MemoryKind.SLOW_PLAIN, List.of(STAGED_PINNED, PLAIN_DIRECT));
    TO_DEVICE.put(MemoryKind.FOREIGN, List.of(STAGED_PINNED, STAGED_PLAIN));
    TO_DEVICE.put(MemoryKind.MAPPED, List.of(MAPPED_FILE));
    TO_DEVICE.put(MemoryKind.DEVICE, List.of(DEVICE_LOCAL, STAGED_PINNED));
    TO_DEVICE.put(MemoryKind.PEER, List.of(TransferWay.PEER, STAGED_PINNED));
    TO_DEVICE.put(MemoryKind.UNREACHABLE, List.of(STAGED_PINNED));
  }

  private final long chunk;
  private final Map<Leg, AdaptiveCostModel> models = new ConcurrentHashMap<>();
  private volatile @Nullable TransferCalibration calibration;

  /**
   * Creates the table without a calibration.
   *
   * @param chunk the largest size of a staging block
   */
  TransferPaths(long chunk) {
    this.chunk = chunk;
  }

  /** Sets the measured costs, which choose the path of later transfers. */
  void calibrated(TransferCalibration measured) {
    for (boolean pinned : new boolean[] {false, true}) {
      for (boolean up : new boolean[] {false, true}) {
        StagingModel.of(measured, pinned, up)
            .ifPresent(found -> models.put(link(pinned, up), new AdaptiveCostModel(found)));
      }
    }
    calibration = measured;
  }

  /**
   * Returns the bytes of one chunk of a transfer without staging. On fast links that is two
   * milliseconds of transfer, so that chunks cost almost nothing, and other transfers wait no
   * longer than elsewhere.
   */
  long directChunk(TransferWay way, boolean up) {
    TransferCalibration costs = calibration;
    return largerChunk(
        costs == null ? null : costs.legs().get(link(way == PINNED_DIRECT, up)), chunk);
  }

  /**
   * Returns the bytes of one chunk of a copy from the memory of this device, or of the device with
   * this name: also two milliseconds.
   */
  long copyChunk(boolean local, String name) {
    TransferCalibration costs = calibration;
    Cost cost = null;
    if (costs != null) {
      cost = local ? costs.legs().get(Leg.LOCAL) : costs.peers().get(name);
    }
    return largerChunk(cost, FASTER_ON_DEVICE * chunk);
  }

  private long largerChunk(@Nullable Cost cost, long uncalibrated) {
    return cost == null || cost.nanosPerByte() == 0
        ? uncalibrated
        : Math.max(chunk, (long) (CHUNK_NANOS / cost.nanosPerByte()));
  }

  /** Returns the cost model of a staged path, or null before a calibration. */
  @Nullable AdaptiveCostModel model(TransferWay way, boolean up) {
    return models.get(link(way != STAGED_PLAIN, up));
  }

  @Nullable TransferCalibration calibration() {
    return calibration;
  }

  /** Returns the kind of memory of a region of the host, for a device. */
  static MemoryKind place(HostRegion bytes, Device device) {
    if (!(bytes instanceof HostRegion.Segment(MemorySegment segment, boolean direct))) {
      return MemoryKind.FOREIGN;
    }
    if (segment.isMapped()) {
      return MemoryKind.MAPPED;
    }
    if (!direct) {
      return MemoryKind.FOREIGN;
    }
    if (device.isPinned(segment)) {
      return MemoryKind.PINNED;
    }
    return device.prefersStaging(segment) ? MemoryKind.SLOW_PLAIN : MemoryKind.PLAIN;
  }

  /** Returns the paths between a kind of memory and the device, in their static order. */
  static List<TransferWay> candidates(MemoryKind place) {
    return Objects.requireNonNull(TO_DEVICE.get(place), "every kind has its ways");
  }

  /** Returns the path for bytes between the host and the device. */
  TransferWay choose(MemoryKind host, boolean up, long bytes) {
    TransferCalibration costs = calibration;
    List<TransferWay> ways = candidates(host);
    return costs == null ? ways.getFirst() : cheapest(ways, way -> nanos(costs, way, up, bytes));
  }

  /**
   * Returns the path for bytes from the memory of another device, or of this one.
   *
   * @param source the calibration of the other device, or of this one if it is the source
   * @param name of the other device
   */
  TransferWay across(
      MemoryKind place, @Nullable TransferCalibration source, String name, long bytes) {
    TransferCalibration costs = calibration;
    List<TransferWay> ways = candidates(place);
    if (costs == null || source == null) {
      return ways.getFirst();
    }
    return cheapest(
        ways,
        way ->
            switch (way) {
              case DEVICE_LOCAL -> nanos(costs.legs().get(Leg.LOCAL), bytes);
              case PEER -> nanos(costs.peers().get(name), bytes);
              default -> throughHost(source, costs, bytes);
            });
  }

  /**
   * Returns whether one command for transfers that are gathered in a staging block is cheaper than
   * a command for each.
   *
   * @param bytes of all transfers together
   */
  boolean scatters(int moves, long bytes) {
    TransferCalibration costs = calibration;
    Cost scatter = costs == null ? null : costs.legs().get(Leg.SCATTER);
    Cost command = costs == null ? null : costs.legs().get(Leg.COMMAND);
    if (scatter == null || command == null) {
      return moves >= FEW && bytes / moves <= SMALL;
    }
    return scatter.nanos(bytes)
        < CLEARLY * (moves * command.latencyNanos() + bytes * command.nanosPerByte());
  }

  private interface Nanos {
    /** Returns the cost of one way; NaN if not known. */
    double of(TransferWay way);
  }

  private static TransferWay cheapest(List<TransferWay> ways, Nanos nanos) {
    TransferWay best = ways.getFirst();
    double least = nanos.of(best);
    for (TransferWay way : ways.subList(1, ways.size())) {
      double cost = nanos.of(way);
      if (cost < CLEARLY * least) {
        best = way;
        least = cost;
      }
    }
    return best;
  }

  private double nanos(TransferCalibration costs, TransferWay way, boolean up, long bytes) {
    boolean pinned = way == PINNED_DIRECT || way == STAGED_PINNED;
    if (!way.isStaged()) {
      return nanos(costs.legs().get(link(pinned, up)), bytes);
    }
    return StagingModel.of(costs, pinned, up)
        .map(model -> model.best(bytes, chunk).nanos())
        .orElse(Double.NaN);
  }

  static Leg link(boolean pinned, boolean up) {
    if (up) {
      return pinned ? Leg.PINNED_UP : Leg.PLAIN_UP;
    }
    return pinned ? Leg.PINNED_DOWN : Leg.PLAIN_DOWN;
  }

  /** Returns the cost of copies down and up again, one chunk after the other. */
  private double throughHost(TransferCalibration from, TransferCalibration to, long bytes) {
    long step = Math.min(chunk, bytes);
    double down = nanos(from.legs().get(Leg.PINNED_DOWN), step);
    double up = nanos(to.legs().get(Leg.PINNED_UP), step);
    return Math.ceil((double) bytes / step) * (down + up);
  }

  private static double nanos(@Nullable Cost cost, long bytes) {
    return cost == null ? Double.NaN : cost.nanos(bytes);
  }
}
