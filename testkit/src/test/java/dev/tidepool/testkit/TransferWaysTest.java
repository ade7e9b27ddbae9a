package dev.tidepool.testkit;

import static dev.tidepool.transfer.TransferWay.DEVICE_LOCAL;
import static dev.tidepool.transfer.TransferWay.MAPPED_FILE;
import static dev.tidepool.transfer.TransferWay.PEER;
import static dev.tidepool.transfer.TransferWay.PINNED_DIRECT;
import static dev.tidepool.transfer.TransferWay.PLAIN_DIRECT;
import static dev.tidepool.transfer.TransferWay.SAME_MEMORY;
import static dev.tidepool.transfer.TransferWay.STAGED_PINNED;
import static dev.tidepool.transfer.TransferWay.STAGED_PLAIN;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.simulated.DriverLedger;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedLink;
import dev.tidepool.testkit.simulated.SimulatedLink.Speed;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferCalibration.Cost;
import dev.tidepool.transfer.TransferCalibration.Leg;
import dev.tidepool.transfer.TransferStatistics;
import dev.tidepool.transfer.TransferWay;
import dev.tidepool.transfer.WayStatistics;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Which way bytes go: a fixed one where nothing is known, the cheaper one on links where that one
 * is wrong, by a wide margin, so that no measurement on a busy machine says otherwise.
 */
class TransferWaysTest {
  private static final int BYTES = 1 << 20;
  private static final Speed FAST = Speed.of(1, 100_000);
  private static final Speed SLOW = Speed.of(1, 50);

  @TempDir private Path folder;

  private SimulatedProvider simulated;

  private Tidepool open(SimulatedHardware... hardware) {
    return open(true, hardware);
  }

  private Tidepool open(boolean calibration, SimulatedHardware... hardware) {
    simulated = new SimulatedProvider(hardware);
    MemoryOptions options =
        MemoryOptions.builder()
            .calibration(calibration)
            .cacheDirectory(folder.resolve("calibration"))
            .build();
    return Discovery.using(List.of(simulated), () -> Tidepool.open(options));
  }

  private static SimulatedHardware linked(Speed pinned, Speed plain) {
    return SimulatedHardware.discrete().withLink(SimulatedLink.both(pinned, plain));
  }

  /**
   * Calibrates until the machine had time to tell what is slow from what is fast, which differ by a
   * factor of 2,000 on the link.
   */
  private static void calibrate(UnifiedMemoryManager memory, boolean slowPeers, Leg... slow) {
    Set<Leg> slowLegs = Set.of(slow);
    for (int i = 0; i < 50; i++) {
      TransferCalibration measured = memory.transfers().calibrate();
      if (EnumSet.complementOf(EnumSet.of(Leg.COMMAND, Leg.CHUNK, Leg.SCATTER)).stream()
              .allMatch(leg -> isTold(measured.legs().get(leg), slowLegs.contains(leg)))
          && measured.peers().values().stream().allMatch(cost -> isTold(cost, slowPeers))) {
        return;
      }
    }
    abort("this machine is too busy to tell " + SLOW + " from " + FAST);
  }

  private static boolean isTold(Cost cost, boolean slow) {
    double needed = (double) BYTES / SLOW.bytesPerSecond() * 1e9;
    return slow ? cost.nanos(BYTES) > needed * 3 / 4 : cost.nanos(BYTES) < needed / 4;
  }

  private static UnifiedBuffer<byte[]> buffer(
      UnifiedMemoryManager memory, MemoryLocation location) {
    return memory.allocate(ElementType.BYTE, BYTES, location);
  }

  private static byte[] pattern(long seed) {
    return Patterns.array(ElementType.BYTE, BYTES, seed);
  }

  /** The ways that an action takes, with the bytes that go each. */
  private static Map<TransferWay, Long> ways(UnifiedMemoryManager memory, Runnable action) {
    TransferStatistics before = memory.transfers().statistics();
    action.run();
    TransferStatistics after = memory.transfers().statistics();
    return after.ways().keySet().stream()
        .filter(way -> after.way(way).transfers() > before.way(way).transfers())
        .collect(
            Collectors.toMap(way -> way, way -> after.way(way).bytes() - before.way(way).bytes()));
  }

  private static void assertContents(UnifiedBuffer<byte[]> buffer, long seed) {
    byte[] seen = new byte[BYTES];
    buffer.copyTo(seen);
    Patterns.assertEqual(seen, pattern(seed), "on the far side");
  }

  /** Moves bytes by every kind of pair, checks them, and hands the ways of each pair on. */
  private void tour(UnifiedMemoryManager memory, Consumer<Map<String, Map<TransferWay, Long>>> to)
      throws Exception {
    Path file = folder.resolve("bytes");
    Files.write(file, pattern(3));
    try (var device = buffer(memory, MemoryLocation.DEVICE);
        var second = buffer(memory, MemoryLocation.DEVICE);
        var pinned = buffer(memory, MemoryLocation.PINNED);
        var host = buffer(memory, MemoryLocation.HOST);
        var other = buffer(memory, MemoryLocation.HOST);
        var mapped = memory.map(file, ElementType.BYTE, MapMode.READ_WRITE)) {
      pinned.copyFrom(pattern(1));
      host.copyFrom(pattern(2));
      var arrayIn = ways(memory, () -> device.copyFrom(pattern(4)));
      assertContents(device, 4);
      var pinnedIn = ways(memory, () -> device.copyFrom(pinned));
      assertContents(device, 1);
      var plainIn = ways(memory, () -> device.copyFrom(host));
      assertContents(device, 2);
      var mappedIn = ways(memory, () -> device.copyFrom(mapped));
      assertContents(device, 3);
      var local = ways(memory, () -> second.copyFrom(device));
      assertContents(second, 3);
      var pinnedOut = ways(memory, () -> pinned.copyFrom(device));
      assertContents(pinned, 3);
      var same = ways(memory, () -> other.copyFrom(host));
      assertContents(other, 2);
      device.copyFrom(pattern(5));
      var mappedOut = ways(memory, () -> mapped.copyFrom(device));
      assertContents(mapped, 5);
      var arrayOut = ways(memory, () -> assertContents(device, 5));
      to.accept(
          Map.of(
              "array in", arrayIn,
              "pinned in", pinnedIn,
              "plain in", plainIn,
              "mapped in", mappedIn,
              "local", local,
              "pinned out", pinnedOut,
              "same", same,
              "mapped out", mappedOut,
              "array out", arrayOut));
    }
  }

  private static Map<TransferWay, Long> only(TransferWay way) {
    return Map.of(way, (long) BYTES);
  }

  @Test
  void withoutACalibrationEveryPairHasItsFixedWay() throws Exception {
    try (Tidepool tidepool = open(SimulatedHardware.discrete())) {
      tour(
          tidepool.memory(),
          ways ->
              assertThat(ways)
                  .containsEntry("array in", only(STAGED_PINNED))
                  .containsEntry("array out", only(STAGED_PINNED))
                  .containsEntry("pinned in", only(PINNED_DIRECT))
                  .containsEntry("pinned out", only(PINNED_DIRECT))
                  .containsEntry("plain in", only(PLAIN_DIRECT))
                  .containsEntry("mapped in", only(MAPPED_FILE))
                  .containsEntry("mapped out", only(MAPPED_FILE))
                  .containsEntry("local", only(DEVICE_LOCAL))
                  .containsEntry("same", only(SAME_MEMORY)));
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void wherePinnedMemoryIsSlowBytesGoThroughPlainMemory() throws Exception {
    try (Tidepool tidepool = open(linked(SLOW, FAST))) {
      calibrate(tidepool.memory(), false, Leg.PINNED_UP, Leg.PINNED_DOWN);
      tour(
          tidepool.memory(),
          ways ->
              assertThat(ways)
                  .containsEntry("array in", only(STAGED_PLAIN))
                  .containsEntry("array out", only(STAGED_PLAIN))
                  .containsEntry("pinned in", only(STAGED_PLAIN))
                  .containsEntry("pinned out", only(STAGED_PLAIN))
                  .containsEntry("plain in", only(PLAIN_DIRECT)));
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void wherePlainMemoryIsSlowItsBytesGoThroughPinnedBlocks() throws Exception {
    try (Tidepool tidepool = open(linked(FAST, SLOW))) {
      calibrate(tidepool.memory(), false, Leg.PLAIN_UP, Leg.PLAIN_DOWN);
      tour(
          tidepool.memory(),
          ways ->
              assertThat(ways)
                  .containsEntry("array in", only(STAGED_PINNED))
                  .containsEntry("pinned in", only(PINNED_DIRECT))
                  .containsEntry("plain in", only(STAGED_PINNED)));
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void whereCopiesOnTheDeviceAreSlowBytesGoThroughTheHost() throws Exception {
    SimulatedLink link = SimulatedLink.both(FAST, FAST).withLocal(SLOW);
    try (Tidepool tidepool = open(SimulatedHardware.discrete().withLink(link))) {
      calibrate(tidepool.memory(), false, Leg.LOCAL);
      tour(
          tidepool.memory(),
          ways -> assertThat(ways.get("local")).isEqualTo(Map.of(STAGED_PINNED, 2L * BYTES)));
      DriverLedger ledger = simulated.device("simulated:0").ledger();
      assertThat(ledger.violations()).isEmpty();
    }
  }

  @Test
  void bytesOfAPeerGoStraightUnlessThatIsSlower() {
    SimulatedLink slowPeer = SimulatedLink.both(FAST, FAST).withPeer(SLOW);
    for (boolean slow : new boolean[] {false, true}) {
      SimulatedHardware hardware =
          SimulatedHardware.discrete()
              .withLink(slow ? slowPeer : SimulatedLink.both(SLOW, SLOW).withPeer(FAST));
      try (Tidepool tidepool = open(hardware, hardware)) {
        UnifiedMemoryManager here = tidepool.memory(tidepool.accelerator("simulated:0"));
        UnifiedMemoryManager there = tidepool.memory(tidepool.accelerator("simulated:1"));
        try (var source = buffer(there, MemoryLocation.DEVICE);
            var target = buffer(here, MemoryLocation.DEVICE)) {
          source.copyFrom(pattern(1));
          assertThat(ways(here, () -> target.copyFrom(source))).isEqualTo(only(PEER));
          Leg[] slowLegs =
              slow
                  ? new Leg[0]
                  : new Leg[] {Leg.PINNED_UP, Leg.PLAIN_UP, Leg.PINNED_DOWN, Leg.PLAIN_DOWN};
          calibrate(there, slow, slowLegs);
          calibrate(here, slow, slowLegs);
          assertThat(ways(here, () -> target.copyFrom(source)))
              .isEqualTo(only(slow ? STAGED_PINNED : PEER));
          assertContents(target, 1);
        }
      }
      assertThat(simulated.violations()).isEmpty();
    }
  }

  @Test
  void devicesThatDoNotReachEachOtherStageTheirCopies() {
    SimulatedHardware hardware = SimulatedHardware.discrete().withoutPeers();
    try (Tidepool tidepool = open(hardware, hardware)) {
      UnifiedMemoryManager here = tidepool.memory(tidepool.accelerator("simulated:0"));
      UnifiedMemoryManager there = tidepool.memory(tidepool.accelerator("simulated:1"));
      try (var source = buffer(there, MemoryLocation.DEVICE);
          var target = buffer(here, MemoryLocation.DEVICE)) {
        source.copyFrom(pattern(1));
        assertThat(ways(here, () -> target.copyFrom(source))).isEqualTo(only(STAGED_PINNED));
        assertContents(target, 1);
      }
    }
    assertThat(simulated.violations()).isEmpty();
  }

  @Test
  void withoutPinnedMemoryBytesAreStagedThroughPlainMemory() {
    try (Tidepool tidepool = open(SimulatedHardware.discrete().withPinned(0));
        var device = buffer(tidepool.memory(), MemoryLocation.DEVICE)) {
      assertThat(ways(tidepool.memory(), () -> device.copyFrom(pattern(1))))
          .isEqualTo(only(STAGED_PLAIN));
      assertContents(device, 1);
    }
  }

  @Test
  void theWaysAddUpToTheDirections() throws Exception {
    try (Tidepool tidepool = open(SimulatedHardware.discrete())) {
      tour(tidepool.memory(), _ -> {});
      TransferStatistics all = tidepool.memory().transfers().statistics();
      long bytes =
          all.ways().entrySet().stream()
              .filter(way -> way.getKey() != SAME_MEMORY)
              .mapToLong(way -> way.getValue().bytes())
              .sum();
      assertThat(bytes)
          .isEqualTo(all.hostToDeviceBytes() + all.deviceToHostBytes() + all.deviceToDeviceBytes());
      long staged =
          all.ways().entrySet().stream()
              .filter(way -> way.getKey().isStaged())
              .mapToLong(way -> way.getValue().bytes())
              .sum();
      assertThat(staged).isEqualTo(all.stagedBytes());
      WayStatistics local = all.way(DEVICE_LOCAL);
      assertThat(local.time()).isEqualTo(all.deviceToDeviceTime()).isPositive();
      assertThat(local.bandwidth()).isPositive();
      assertThat(all.way(PEER)).isEqualTo(new WayStatistics(0, 0, java.time.Duration.ZERO));
    }
  }

  @Test
  void efficiencyIsKnownOnceThereIsACalibration() {
    try (Tidepool tidepool = open(linked(Speed.of(10, 2000), Speed.of(10, 1000)));
        var device = buffer(tidepool.memory(), MemoryLocation.DEVICE)) {
      device.copyFrom(pattern(1));
      TransferStatistics before = tidepool.memory().transfers().statistics();
      assertThat(before.hostToDevicePeak()).isNaN();
      assertThat(before.hostToDeviceEfficiency()).isNaN();
      assertThat(before.deviceToHostEfficiency()).isNaN();
      TransferCalibration measured = tidepool.memory().transfers().calibrate();
      TransferStatistics after = tidepool.memory().transfers().statistics();
      double peak =
          Math.max(
              measured.legs().get(Leg.PINNED_UP).peak(), measured.legs().get(Leg.PLAIN_UP).peak());
      assertThat(after.hostToDevicePeak()).isEqualTo(peak);
      assertThat(after.hostToDeviceEfficiency()).isEqualTo(after.hostToDeviceBandwidth() / peak);
      assertThat(after.deviceToHostEfficiency()).as("nothing went down yet").isZero();
      assertThat(after.deviceToDevicePeak()).isPositive();
    }
  }

  @Test
  void aCalibrationOfMemoryThatIsSharedIsRefused() {
    try (Tidepool tidepool = open(SimulatedHardware.discrete())) {
      UnifiedMemoryManager cpu = tidepool.memory(tidepool.accelerator("cpu:0"));
      assertThatThrownBy(() -> cpu.transfers().calibrate())
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("cpu:0");
    }
  }
}
