package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.PeerAccess;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One buffer over several accelerators, and back. */
@Timeout(60)
class DistributionTest {
  private static final int LENGTH = 40_003;
  private static final long SEED = Long.getLong("tidepool.test.seed", 21);

  private final SimulatedProvider simulated =
      new SimulatedProvider(
          SimulatedHardware.discrete(),
          SimulatedHardware.discrete(),
          SimulatedHardware.discrete(),
          SimulatedHardware.discrete().withoutPeers());

  private final FaultInjector faults = new FaultInjector(simulated);
  private final List<UnifiedBuffer<int[]>> opened = new ArrayList<>();
  private Tidepool tidepool = open(MemoryOptions.defaults());

  private Tidepool open(MemoryOptions options) {
    return Discovery.using(List.of(faults), () -> Tidepool.open(options));
  }

  @AfterEach
  void close() {
    simulated.devices().forEach(device -> device.resume());
    opened.forEach(UnifiedBuffer::close);
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
  }

  private UnifiedBuffer<int[]> buffer(int accelerator, long length, MemoryLocation where) {
    UnifiedBuffer<int[]> buffer =
        tidepool
            .memory(tidepool.accelerators().get(accelerator))
            .allocate(ElementType.INT, length, where);
    opened.add(buffer);
    buffer.fill((byte) 0x11);
    return buffer;
  }

  private UnifiedBuffer<int[]> buffer(int accelerator, long length) {
    return buffer(accelerator, length, MemoryLocation.DEVICE);
  }

  private UnifiedBuffer<int[]> full(int accelerator, int length, long seed) {
    UnifiedBuffer<int[]> buffer = buffer(accelerator, length);
    buffer.copyFrom(pattern(length, seed));
    return buffer;
  }

  private static int[] pattern(int length, long seed) {
    return Patterns.array(ElementType.INT, length, seed);
  }

  private static int[] contents(UnifiedBuffer<int[]> buffer) {
    int[] array = new int[(int) buffer.length()];
    buffer.copyTo(array);
    return array;
  }

  private long copies(int accelerator) {
    return simulated.device("simulated:" + accelerator).ledger().calls(SpiCall.COPY);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void everyElementArrivesWhereverPartsAreAndHoweverLong(boolean peers) {
    tidepool.close();
    tidepool = open(MemoryOptions.builder().peerAccess(peers).stagingChunk(8192).build());
    System.out.println("seed " + SEED);
    SplittableRandom random = new SplittableRandom(SEED);
    for (int round = 0; round < 12; round++) {
      int parts = random.nextInt(1, 9);
      double[] weights = random.doubles(parts).map(w -> w < 0.2 ? 0 : w).toArray();
      weights[random.nextInt(parts)] = 1;
      long[] lengths = PeerAccess.split(LENGTH, weights);
      List<UnifiedBuffer<int[]>> pieces = new ArrayList<>();
      for (long length : lengths) {
        pieces.add(buffer(random.nextInt(5), length, anywhere(random)));
      }
      UnifiedBuffer<int[]> source = buffer(random.nextInt(5), LENGTH, anywhere(random));
      int[] expected = pattern(LENGTH, round);
      source.copyFrom(expected);

      tidepool.peers().scatter(source, pieces);

      int at = 0;
      for (UnifiedBuffer<int[]> piece : pieces) {
        int end = at + (int) piece.length();
        assertThat(contents(piece)).isEqualTo(Arrays.copyOfRange(expected, at, end));
        at = end;
      }
      UnifiedBuffer<int[]> gathered = buffer(random.nextInt(5), LENGTH + 3, anywhere(random));
      tidepool.peers().gather(pieces, gathered);
      int[] behind = {0x11111111, 0x11111111, 0x11111111};
      assertThat(contents(gathered)).startsWith(expected).endsWith(behind);
      assertThat(contents(source)).isEqualTo(expected);

      List<UnifiedBuffer<int[]>> copies = new ArrayList<>();
      for (int i = 0; i < parts; i++) {
        copies.add(buffer(random.nextInt(5), LENGTH + i, anywhere(random)));
      }
      tidepool.peers().broadcast(source, copies);
      for (UnifiedBuffer<int[]> copy : copies) {
        assertThat(contents(copy)).startsWith(expected);
        assertThat(Arrays.stream(contents(copy)).skip(LENGTH)).allMatch(i -> i == 0x11111111);
      }
      opened.forEach(UnifiedBuffer::close);
      opened.clear();
    }
  }

  private static MemoryLocation anywhere(SplittableRandom random) {
    return MemoryLocation.values()[random.nextInt(MemoryLocation.values().length)];
  }

  @Test
  void partsOfOneBufferAreParts() {
    UnifiedBuffer<int[]> source = full(0, 90, 1);
    UnifiedBuffer<int[]> target = buffer(1, 100);
    tidepool
        .peers()
        .scatter(source, List.of(target.slice(50, 50), target.slice(0, 10), target.slice(20, 30)));
    int[] expected = new int[100];
    Arrays.fill(expected, 0x11111111);
    int[] sent = pattern(90, 1);
    System.arraycopy(sent, 0, expected, 50, 50);
    System.arraycopy(sent, 50, expected, 0, 10);
    System.arraycopy(sent, 60, expected, 20, 30);
    assertThat(contents(target)).isEqualTo(expected);
  }

  @Test
  void aBroadcastSpreadsAsATreeAndOnlyStrangersAreStaged() {
    UnifiedBuffer<int[]> source = full(0, LENGTH, 3);
    List<UnifiedBuffer<int[]>> destinations =
        List.of(
            buffer(1, LENGTH),
            buffer(2, LENGTH),
            buffer(1, LENGTH),
            buffer(2, LENGTH),
            buffer(3, LENGTH));
    tidepool.peers().broadcast(source, destinations);
    for (UnifiedBuffer<int[]> destination : destinations) {
      assertThat(contents(destination)).isEqualTo(pattern(LENGTH, 3));
    }
    assertThat(copies(1)).isEqualTo(2);
    assertThat(copies(2)).isEqualTo(2);
    assertThat(copies(3)).as("it copies from nobody").isZero();
    // The second on each device had its bytes from the first there.
    assertThat(way(0, 1).copies()).isEqualTo(1);
    assertThat(way(0, 2).copies() + way(1, 2).copies()).isEqualTo(1);
    assertThat(way(0, 3).stagedCopies() + way(1, 3).stagedCopies() + way(2, 3).stagedCopies())
        .isEqualTo(1);
  }

  private PeerAccess.Way way(int from, int to) {
    return tidepool.peers().way(tidepool.accelerators().get(from), tidepool.accelerators().get(to));
  }

  @Test
  void aPartThatFailsIsNamedAndTheOthersArrive() {
    for (int failing = 1; failing <= 3; failing++) {
      UnifiedBuffer<int[]> source = full(0, 300, failing);
      List<UnifiedBuffer<int[]>> parts = List.of(buffer(1, 100), buffer(1, 100), buffer(1, 100));
      faults.fail(SpiCall.COPY, failing, Failure.BROKEN);
      assertThatThrownBy(() -> tidepool.peers().scatter(source, parts))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("part ")
          .hasMessageContaining("of 3");
      int arrived = 0;
      for (int i = 0; i < 3; i++) {
        int[] expected = Arrays.copyOfRange(pattern(300, failing), 100 * i, 100 * (i + 1));
        arrived += Arrays.equals(contents(parts.get(i)), expected) ? 1 : 0;
      }
      assertThat(arrived).isEqualTo(2);
      tidepool.peers().scatter(source, parts);
      UnifiedBuffer<int[]> all = buffer(0, 300);
      tidepool.peers().gather(parts, all);
      assertThat(contents(all)).isEqualTo(pattern(300, failing));
    }
  }

  @Test
  void aGatherThatFailsNamesItsPartAndHasTheOthers() {
    List<UnifiedBuffer<int[]>> parts =
        List.of(full(1, 100, 1), full(2, 100, 2), full(1, 100, 3), full(2, 100, 4));
    UnifiedBuffer<int[]> all = buffer(0, 400);
    faults.fail(SpiCall.COPY, 3, Failure.BROKEN);
    assertThatThrownBy(() -> tidepool.peers().gather(parts, all))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("part 3 of 4");
    int[] got = contents(all);
    for (int i : new int[] {0, 1, 3}) {
      assertThat(Arrays.copyOfRange(got, 100 * i, 100 * (i + 1))).isEqualTo(pattern(100, i + 1));
    }
  }

  @Test
  void whoWasToRelayAndFailedHoldsNobodyUp() {
    for (int nth = 1; nth <= 4; nth++) {
      UnifiedBuffer<int[]> source = full(0, 1000, nth);
      List<UnifiedBuffer<int[]>> destinations =
          List.of(buffer(1, 1000), buffer(1, 1000), buffer(1, 1000), buffer(2, 1000));
      faults.fail(SpiCall.COPY, nth, Failure.BROKEN);
      assertThatThrownBy(() -> tidepool.peers().broadcast(source, destinations))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("of 4");
      int[] expected = pattern(1000, nth);
      assertThat(destinations.stream().filter(b -> Arrays.equals(contents(b), expected)))
          .hasSize(3);
    }
  }

  @Test
  void aDisturbedPartIsTriedAgainAndTheOthersArriveOnce() {
    UnifiedBuffer<int[]> source = full(0, 300, 1);
    List<UnifiedBuffer<int[]>> parts = List.of(buffer(1, 100), buffer(1, 100), buffer(1, 100));
    UnifiedBuffer<int[]> all = buffer(0, 300);
    faults.fail(SpiCall.COPY, 2, Failure.TRANSIENT);
    tidepool.peers().scatter(source, parts);
    assertThat(faults.fired()).isPresent();
    faults.fail(SpiCall.COPY, 2, Failure.TRANSIENT);
    tidepool.peers().gather(parts, all);
    assertThat(faults.fired()).isPresent();
    assertThat(contents(all)).isEqualTo(pattern(300, 1));
    assertThat(copies(0)).as("of three parts, one twice").isEqualTo(4);
  }

  @Test
  void whoWasToRelayAndIsNotLetInHoldsNobodyUp() {
    UnifiedBuffer<int[]> source = full(0, 1000, 1);
    UnifiedBuffer<int[]> next = buffer(1, 1000, MemoryLocation.HOST);
    Arena ended = Arena.ofShared();
    UnifiedBuffer<int[]> dead =
        tidepool
            .memory(tidepool.accelerators().get(1))
            .wrap(ElementType.INT, ended.allocate(4000, 4));
    opened.add(dead);
    ended.close();
    assertThatThrownBy(() -> tidepool.peers().broadcast(source, List.of(dead, next)))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("destination 1 of 2");
    assertThat(contents(next)).isEqualTo(pattern(1000, 1));
  }

  @Test
  void whatOthersWriteMeanwhileIsNotPassedOn() throws Exception {
    UnifiedBuffer<int[]> source = full(0, 100, 1);
    List<UnifiedBuffer<int[]>> destinations = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      destinations.add(buffer(1, 100));
    }
    int[] foreign = pattern(100, 2);
    Thread writing =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!Thread.currentThread().isInterrupted()) {
                    destinations.getFirst().copyFrom(foreign);
                  }
                });
    try {
      for (int round = 0; round < 300; round++) {
        tidepool.peers().broadcast(source, destinations);
        for (UnifiedBuffer<int[]> destination : destinations.subList(1, 8)) {
          assertThat(contents(destination)).isEqualTo(pattern(100, 1));
        }
      }
    } finally {
      writing.interrupt();
      writing.join();
    }
  }

  @Test
  void whatIsAskedForBehindABroadcastSeesItWholeAndChangesNobodyElse() {
    UnifiedBuffer<int[]> source = full(0, LENGTH, 8);
    List<UnifiedBuffer<int[]>> destinations =
        List.of(buffer(1, LENGTH), buffer(1, LENGTH), buffer(2, LENGTH), buffer(2, LENGTH));
    simulated.device("simulated:1").pause();
    simulated.device("simulated:2").pause();
    CompletableFuture<Void> broadcast = tidepool.peers().broadcastAsync(source, destinations);
    CompletableFuture<Void> next = source.copyFromAsync(pattern(LENGTH, 9));
    CompletableFuture<Void> first = destinations.getFirst().copyFromAsync(pattern(LENGTH, 10));
    simulated.device("simulated:1").resume();
    simulated.device("simulated:2").resume();
    CompletableFuture.allOf(broadcast, next, first).join();
    assertThat(contents(source)).isEqualTo(pattern(LENGTH, 9));
    assertThat(contents(destinations.getFirst())).isEqualTo(pattern(LENGTH, 10));
    for (UnifiedBuffer<int[]> destination : destinations.subList(1, 4)) {
      assertThat(contents(destination)).isEqualTo(pattern(LENGTH, 8));
    }
  }

  @Test
  void aThousandPartsArriveAndMoreAreRefused() {
    List<UnifiedBuffer<int[]>> parts = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      parts.add(buffer(1, 1, MemoryLocation.HOST));
    }
    UnifiedBuffer<int[]> source = full(0, 1001, 1);
    tidepool.peers().scatter(source.slice(0, 1000), parts);
    UnifiedBuffer<int[]> all = buffer(2, 1000);
    tidepool.peers().gather(parts, all);
    assertThat(contents(all)).isEqualTo(Arrays.copyOf(pattern(1001, 1), 1000));
    parts.add(buffer(1, 1, MemoryLocation.HOST));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> tidepool.peers().scatter(source, parts))
        .withMessageContaining("1002 buffers take part, and at most 1001")
        .withMessageContaining("divide the parts");
    tidepool.peers().scatter(source.slice(0, 1000), parts.subList(0, 1000));
  }

  @Test
  void whatCannotGoWellMovesNothing() {
    PeerAccess peers = tidepool.peers();
    UnifiedBuffer<int[]> source = full(0, 100, 1);
    UnifiedBuffer<int[]> other = buffer(1, 100);
    UnifiedBuffer<int[]> closed = buffer(1, 50);
    closed.close();
    assertThatThrownBy(() -> peers.scatter(source, List.of(other.slice(0, 99))))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageContaining("100 elements, but the 1 parts 99");
    assertThatThrownBy(() -> peers.scatter(source.slice(0, 50), List.of(other)))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> peers.gather(List.of(source, source), other))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageContaining("2 parts have 200 elements, but the destination only 100");
    assertThatThrownBy(() -> peers.broadcast(source, List.of(other, other.slice(0, 99))))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageContaining("destination 2 has 99 elements");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> peers.scatter(source, List.of(other.slice(0, 50), other.slice(49, 50))))
        .withMessageContaining("parts 1 and 2 share bytes");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> peers.broadcast(source, List.of(other, other)))
        .withMessageContaining("destinations 1 and 2 share bytes");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> peers.gather(List.of(source.slice(60, 40), source.slice(0, 40)), source))
        .withMessageContaining("is overwritten by part");
    assertThatIllegalStateException()
        .isThrownBy(() -> peers.scatter(source, List.of(other.slice(0, 50), closed)));
    assertThatIllegalStateException()
        .isThrownBy(() -> peers.broadcastAsync(source.slice(0, 50), List.of(other, closed)));
    assertThat(contents(other)).containsOnly(0x11111111);
    assertThat(contents(source)).isEqualTo(pattern(100, 1));

    tidepool.close();
    assertThatIllegalStateException().isThrownBy(() -> peers.scatter(source, List.of(other)));
  }

  @Test
  void nothingOverNobodyIsDone() {
    UnifiedBuffer<int[]> target = buffer(0, 5);
    UnifiedBuffer<int[]> source = full(0, 5, 1);
    List<UnifiedBuffer<int[]>> empty = List.of(buffer(1, 0), buffer(0, 0));
    long before = copies(0) + copies(1);
    tidepool.peers().scatter(buffer(0, 0), List.of());
    tidepool.peers().gather(List.of(), target);
    tidepool.peers().broadcast(source, List.of());
    tidepool.peers().scatter(buffer(0, 0), empty);
    assertThat(copies(0) + copies(1)).isEqualTo(before);
    assertThat(contents(target)).containsOnly(0x11111111);
    assertThat(contents(source)).containsExactly(pattern(5, 1));
  }

  @Test
  void aLengthIsSplitByWeightsAndNothingIsLost() {
    assertThat(PeerAccess.split(10, 1, 1, 2)).containsExactly(3, 2, 5);
    assertThat(PeerAccess.split(7, 0, 1, 0)).containsExactly(0, 7, 0);
    assertThat(PeerAccess.split(0, 5, 5)).containsExactly(0, 0);
    assertThat(PeerAccess.split(Long.MAX_VALUE, 1, 1, 1))
        .satisfies(all -> assertThat(Arrays.stream(all).sum()).isEqualTo(Long.MAX_VALUE));
    SplittableRandom random = new SplittableRandom(SEED);
    for (int i = 0; i < 1000; i++) {
      double[] weights = random.doubles(random.nextInt(1, 20), 0, 100).toArray();
      long length = random.nextLong(1_000_000);
      long[] lengths = PeerAccess.split(length, weights);
      assertThat(Arrays.stream(lengths).sum()).as("seed %d, %d", SEED, i).isEqualTo(length);
      double sum = Arrays.stream(weights).sum();
      for (int part = 0; part < weights.length; part++) {
        assertThat(Math.abs(lengths[part] - length * weights[part] / sum)).isLessThan(1.01);
      }
    }
    for (double[] wrong :
        new double[][] {
          {}, {0, 0}, {-1, 2}, {Double.NaN}, {Double.POSITIVE_INFINITY}, {1e308, 1e308}
        }) {
      assertThatIllegalArgumentException()
          .as(Arrays.toString(wrong))
          .isThrownBy(() -> PeerAccess.split(5, wrong));
    }
    assertThatIllegalArgumentException().isThrownBy(() -> PeerAccess.split(-1, 1));
  }
}
