package dev.tidepool.link;

import static dev.tidepool.transfer.TransferWay.DEVICE_LOCAL;
import static dev.tidepool.transfer.TransferWay.MAPPED_FILE;
import static dev.tidepool.transfer.TransferWay.PEER;
import static dev.tidepool.transfer.TransferWay.PINNED_DIRECT;
import static dev.tidepool.transfer.TransferWay.PLAIN_DIRECT;
import static dev.tidepool.transfer.TransferWay.STAGED_PINNED;
import static dev.tidepool.transfer.TransferWay.STAGED_PLAIN;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferCalibration.Cost;
import dev.tidepool.transfer.TransferCalibration.Leg;
import dev.tidepool.transfer.TransferWay;
import java.time.Instant;
import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The choice among ways, on costs that are given. */
class TransferPathsTest {
  private static final long CHUNK = 4 << 20;
  private static final Cost FAST = new Cost(10_000, 0.05);
  private static final Cost SLOW = new Cost(10_000, 1);

  private static TransferCalibration calibration(
      Cost pinned, Cost plain, Cost local, Map<String, Cost> peers) {
    Map<Leg, Cost> legs = new EnumMap<>(Leg.class);
    legs.put(Leg.PINNED_UP, pinned);
    legs.put(Leg.PINNED_DOWN, pinned);
    legs.put(Leg.PLAIN_UP, plain);
    legs.put(Leg.PLAIN_DOWN, plain);
    legs.put(Leg.LOCAL, local);
    legs.put(Leg.HOST_COPY, new Cost(0, 0.1));
    legs.put(Leg.CHUNK, new Cost(2_000, 0.05));
    return new TransferCalibration(Instant.EPOCH, legs, peers);
  }

  private static TransferPaths ways(Cost pinned, Cost plain) {
    TransferPaths ways = new TransferPaths(CHUNK);
    ways.calibrated(calibration(pinned, plain, FAST, Map.of()));
    return ways;
  }

  @ParameterizedTest
  @EnumSource
  void withoutCostsTheFirstWayOfAPairIsTaken(MemoryKind place) {
    TransferPaths ways = new TransferPaths(CHUNK);
    TransferWay first = TransferPaths.candidates(place).getFirst();
    assertThat(ways.choose(place, true, 1 << 20)).isEqualTo(first);
    assertThat(ways.choose(place, false, 1)).isEqualTo(first);
    assertThat(ways.across(place, null, "x", 1 << 20)).isEqualTo(first);
  }

  @Test
  void theCheaperWayOvertakesTheFixedOrder() {
    assertThat(ways(SLOW, FAST).choose(MemoryKind.PINNED, true, 1 << 20)).isEqualTo(STAGED_PLAIN);
    assertThat(ways(SLOW, FAST).choose(MemoryKind.FOREIGN, true, 1 << 20)).isEqualTo(STAGED_PLAIN);
    assertThat(ways(FAST, SLOW).choose(MemoryKind.PLAIN, false, 1 << 20)).isEqualTo(STAGED_PINNED);
    assertThat(ways(FAST, FAST).choose(MemoryKind.SLOW_PLAIN, true, 1 << 20))
        .isEqualTo(PLAIN_DIRECT);
    assertThat(ways(FAST, SLOW).choose(MemoryKind.MAPPED, true, 1 << 20)).isEqualTo(MAPPED_FILE);
  }

  @Test
  void aWayThatIsALittleCheaperDoesNot() {
    TransferPaths ways = ways(FAST, new Cost(10_000, 0.045));
    assertThat(ways.choose(MemoryKind.FOREIGN, true, 64 << 20)).isEqualTo(STAGED_PINNED);
    assertThat(ways.choose(MemoryKind.PINNED, true, 64 << 20)).isEqualTo(PINNED_DIRECT);
  }

  @Test
  void theChoiceDependsOnTheBytes() {
    TransferPaths ways = ways(new Cost(200_000, 0.05), new Cost(5_000, 0.5));
    assertThat(ways.choose(MemoryKind.FOREIGN, true, 4096)).isEqualTo(STAGED_PLAIN);
    assertThat(ways.choose(MemoryKind.FOREIGN, true, 16 << 20)).isEqualTo(STAGED_PINNED);
  }

  @Test
  void whatIsNotKnownChangesNothing() {
    TransferPaths ways = new TransferPaths(CHUNK);
    ways.calibrated(new TransferCalibration(Instant.EPOCH, Map.of(Leg.PLAIN_UP, FAST), Map.of()));
    assertThat(ways.choose(MemoryKind.PINNED, true, 1 << 20)).isEqualTo(PINNED_DIRECT);
    assertThat(ways.choose(MemoryKind.FOREIGN, false, 1 << 20)).isEqualTo(STAGED_PINNED);
    assertThat(ways.model(STAGED_PINNED, true)).isNull();
  }

  @Test
  void aDirectTransferGoesInChunksOfTwoMillisecondsAndNoSmallerThanAStagingBlock() {
    assertThat(new TransferPaths(CHUNK).directChunk(PINNED_DIRECT, true)).isEqualTo(CHUNK);
    TransferPaths ways = ways(FAST, SLOW);
    assertThat(ways.directChunk(PINNED_DIRECT, true)).isEqualTo(40_000_000);
    assertThat(ways.directChunk(PLAIN_DIRECT, false)).isEqualTo(CHUNK);
    assertThat(ways(new Cost(1, 0), SLOW).directChunk(PINNED_DIRECT, false)).isEqualTo(CHUNK);
  }

  @Test
  void aCopyFromADeviceGoesInChunksOfTwoMillisecondsToo() {
    TransferPaths ways = new TransferPaths(CHUNK);
    assertThat(ways.copyChunk(true, "")).isEqualTo(16 * CHUNK);
    assertThat(ways.copyChunk(false, "near")).isEqualTo(16 * CHUNK);
    ways.calibrated(
        calibration(FAST, FAST, new Cost(5_000, 1.0 / 1024), Map.of("near", FAST, "far", SLOW)));
    assertThat(ways.copyChunk(true, "")).isEqualTo(2_048_000_000);
    assertThat(ways.copyChunk(false, "near")).isEqualTo(40_000_000);
    assertThat(ways.copyChunk(false, "far")).isEqualTo(CHUNK);
    assertThat(ways.copyChunk(false, "unknown")).isEqualTo(16 * CHUNK);
  }

  @Test
  void copiesBetweenDevicesGoThroughTheHostWhereThatIsCheaper() {
    TransferCalibration slowPeer =
        calibration(FAST, FAST, new Cost(10_000, 10), Map.of("near", FAST, "far", SLOW));
    TransferPaths ways = new TransferPaths(CHUNK);
    ways.calibrated(slowPeer);
    assertThat(ways.across(MemoryKind.PEER, slowPeer, "near", 8 << 20)).isEqualTo(PEER);
    assertThat(ways.across(MemoryKind.PEER, slowPeer, "far", 8 << 20)).isEqualTo(STAGED_PINNED);
    assertThat(ways.across(MemoryKind.PEER, slowPeer, "unknown", 8 << 20)).isEqualTo(PEER);
    assertThat(ways.across(MemoryKind.DEVICE, slowPeer, "", 8 << 20)).isEqualTo(STAGED_PINNED);
    assertThat(ways.across(MemoryKind.DEVICE, slowPeer, "", 100)).isEqualTo(DEVICE_LOCAL);
  }

  @Test
  void manySmallTransfersAreScatteredWhereThatIsCheaper() {
    TransferPaths unknown = new TransferPaths(CHUNK);
    assertThat(unknown.scatters(1000, 4096 * 1000)).isTrue();
    assertThat(unknown.scatters(2, 8192)).isFalse();
    assertThat(unknown.scatters(10, 10 << 20)).isFalse();
    assertThat(unknown.scatters(0, 0)).isFalse();
    Map<Leg, Cost> legs = new EnumMap<>(Leg.class);
    legs.put(Leg.COMMAND, new Cost(10_000, 0.1));
    legs.put(Leg.SCATTER, new Cost(100_000, 0.2));
    TransferPaths known = new TransferPaths(CHUNK);
    known.calibrated(new TransferCalibration(Instant.EPOCH, legs, Map.of()));
    assertThat(known.scatters(100, 100 * 4096)).isTrue();
    assertThat(known.scatters(5, 5 * 4096)).isFalse();
    assertThat(known.scatters(100, 100L << 20)).isFalse();
  }
}
