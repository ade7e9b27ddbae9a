package dev.tidepool.testkit;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.ElementType;
import dev.tidepool.link.CoalescedCopy.Move;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.HostRegion;
import dev.tidepool.pool.block.Lease;
import dev.tidepool.pool.block.MemoryPool;
import dev.tidepool.pool.block.PoolLimits;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.DriverLedger;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.TransferWay;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Many small transfers at once: where the bytes arrive, and what the driver is asked for. */
class CoalescedCopyTest {
  private static final int CHUNK = 16 << 10;
  private static final int BLOCK = 1 << 20;

  private SimulatedProvider simulated;
  private FaultInjector faults;
  private Device device;
  private DeviceLink link;
  private MemoryPool staging;

  /** What sources the moves have. */
  enum Sources {
    ARRAYS,
    PINNED,
    MIXED
  }

  private void open(SimulatedHardware hardware) {
    simulated = new SimulatedProvider(hardware);
    faults = new FaultInjector(simulated);
    device = faults.discover().devices().getFirst();
    staging =
        new MemoryPool(
            "staging",
            (bytes, alignment) -> device.allocate(bytes, alignment, BlockKind.PINNED),
            new PoolLimits(true, BLOCK, BLOCK, BLOCK, EvictionPolicy.LRU, false));
    link =
        new DeviceLink(device, (bytes, _) -> lease(bytes), new NoStagingThreads(), CHUNK, () -> {});
  }

  private Lease lease(long bytes) {
    var block = staging.take(bytes, 1, true);
    block.occupy(this);
    return new Lease(block);
  }

  @AfterEach
  void close() {
    link.close();
    staging.close();
    device.close();
    assertThat(simulated.violations()).isEmpty();
  }

  private DriverLedger ledger() {
    return simulated.device("simulated:0").ledger();
  }

  /** Moves to places in random order that do not touch, and what the block holds afterwards. */
  private static List<Move> moves(
      Sources sources, int count, int most, Block block, MemorySegment pinned, byte[] model) {
    long seed = Long.getLong("tidepool.test.seed", System.nanoTime());
    Random random = new Random(seed);
    System.out.println("CoalescedCopyTest: seed " + seed);
    List<Move> moves = new ArrayList<>();
    int slot = BLOCK / count;
    for (int i = 0; i < count; i++) {
      int bytes = 1 + random.nextInt(Math.min(most, slot));
      int offset = i * slot + random.nextInt(slot - bytes + 1);
      byte[] array = new byte[bytes];
      random.nextBytes(array);
      System.arraycopy(array, 0, model, offset, bytes);
      boolean direct = sources == Sources.PINNED || (sources == Sources.MIXED && i % 3 == 0);
      HostRegion source = new HostRegion.Elements<>(ElementType.BYTE, array, 0, bytes);
      if (direct) {
        MemorySegment part = pinned.asSlice(offset, bytes);
        part.copyFrom(MemorySegment.ofArray(array));
        source = new HostRegion.Segment(part, true);
      }
      moves.add(new Move(source, block, offset));
    }
    Collections.shuffle(moves, random);
    return moves;
  }

  private byte[] contents(Block block) {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment all = arena.allocate(BLOCK);
      link.download(block, 0, new HostRegion.Segment(all, true));
      return all.toArray(JAVA_BYTE);
    }
  }

  private TransferWay moved(Sources sources, int count, int most) {
    Block block = device.allocate(BLOCK, 64, BlockKind.DEVICE);
    Block pinned = device.allocate(BLOCK, 64, BlockKind.PINNED);
    try {
      link.fill(block, BLOCK, (byte) 0);
      byte[] model = new byte[BLOCK];
      List<Move> moves = moves(sources, count, most, block, pinned.segment(), model);
      TransferWay way = link.coalesced().upload(moves);
      assertThat(contents(block)).isEqualTo(model);
      return way;
    } finally {
      block.free();
      pinned.free();
    }
  }

  @ParameterizedTest
  @EnumSource
  void everyByteArrivesWhereItWasSentAndNowhereElse(Sources sources) {
    open(SimulatedHardware.discrete());
    assertThat(moved(sources, 500, 2000)).isEqualTo(TransferWay.STAGED_PINNED);
    assertThat(ledger().calls(SpiCall.SCATTER)).as("a few loads").isBetween(10L, 100L);
    assertThat(ledger().calls(SpiCall.WRITE)).isZero();
  }

  @ParameterizedTest
  @EnumSource
  void aSingleMoveIsOneWrite(Sources sources) {
    open(SimulatedHardware.discrete());
    TransferWay way = moved(sources, 1, 2000);
    assertThat(way.isStaged()).isEqualTo(sources == Sources.ARRAYS);
    assertThat(ledger().calls(SpiCall.SCATTER)).isZero();
    assertThat(ledger().calls(SpiCall.WRITE)).isOne();
  }

  @ParameterizedTest
  @EnumSource
  void withoutScatteringEachMoveIsAWriteAndNoneWaitsForAnother(Sources sources) {
    open(SimulatedHardware.discrete().withoutScatter());
    TransferWay way = moved(sources, 50, 2000);
    assertThat(way)
        .isEqualTo(
            sources == Sources.PINNED ? TransferWay.PINNED_DIRECT : TransferWay.STAGED_PINNED);
    assertThat(ledger().calls(SpiCall.SCATTER)).isZero();
    assertThat(ledger().calls(SpiCall.WRITE)).isEqualTo(50);
  }

  @Test
  void onePlainMoveAmongPinnedOnesNamesTheWayOfAll() {
    open(SimulatedHardware.discrete().withoutScatter());
    Block block = device.allocate(BLOCK, 64, BlockKind.DEVICE);
    Block pinned = device.allocate(BLOCK, 64, BlockKind.PINNED);
    try (Arena arena = Arena.ofShared()) {
      List<Move> moves = new ArrayList<>();
      for (MemorySegment memory : List.of(pinned.segment(), arena.allocate(1000))) {
        HostRegion source = new HostRegion.Segment(memory.asSlice(0, 1000), true);
        moves.add(new Move(source, block, 1000L * moves.size()));
      }
      assertThat(link.coalesced().upload(moves)).isEqualTo(TransferWay.PLAIN_DIRECT);
      assertThat(ledger().calls(SpiCall.WRITE)).isEqualTo(2);
    } finally {
      block.free();
      pinned.free();
    }
  }

  /** Fetches parts of a block in random order, and compares each; answers the way. */
  private TransferWay fetched(Sources targets, int count, int most) {
    Block block = device.allocate(BLOCK, 64, BlockKind.DEVICE);
    Block pinned = device.allocate(BLOCK, 64, BlockKind.PINNED);
    try {
      link.fill(block, BLOCK, (byte) 0);
      byte[] model = new byte[BLOCK];
      List<Move> sent = moves(Sources.ARRAYS, count, most, block, pinned.segment(), model);
      link.coalesced().upload(sent);
      List<Move> moves = new ArrayList<>();
      for (Move each : sent) {
        int bytes = (int) each.bytes().byteSize();
        boolean direct =
            targets == Sources.PINNED || (targets == Sources.MIXED && moves.size() % 3 == 0);
        HostRegion target =
            direct
                ? new HostRegion.Segment(pinned.segment().asSlice(each.offset(), bytes), true)
                : new HostRegion.Elements<>(ElementType.BYTE, new byte[bytes], 0, bytes);
        moves.add(new Move(target, block, each.offset()));
      }
      TransferWay way = link.coalesced().download(moves);
      for (Move each : moves) {
        byte[] seen =
            switch (each.bytes()) {
              case HostRegion.Segment(MemorySegment segment, _) -> segment.toArray(JAVA_BYTE);
              case HostRegion.Elements<?> elements -> (byte[]) elements.array();
            };
        int from = (int) each.offset();
        assertThat(seen).isEqualTo(Arrays.copyOfRange(model, from, from + seen.length));
      }
      return way;
    } finally {
      block.free();
      pinned.free();
    }
  }

  @ParameterizedTest
  @EnumSource
  void everyByteComesBackFromWhereItWasSent(Sources targets) {
    open(SimulatedHardware.discrete());
    assertThat(fetched(targets, 500, 2000)).isEqualTo(TransferWay.STAGED_PINNED);
    assertThat(ledger().calls(SpiCall.GATHER)).as("a few loads").isBetween(10L, 100L);
    assertThat(ledger().calls(SpiCall.READ)).isZero();
  }

  @ParameterizedTest
  @EnumSource
  void withoutGatheringEachIsAReadAndNoneWaitsForAnother(Sources targets) {
    open(SimulatedHardware.discrete().withoutScatter());
    TransferWay way = fetched(targets, 50, 2000);
    assertThat(way)
        .isEqualTo(
            targets == Sources.PINNED ? TransferWay.PINNED_DIRECT : TransferWay.STAGED_PINNED);
    assertThat(ledger().calls(SpiCall.GATHER)).isZero();
    assertThat(ledger().calls(SpiCall.READ)).isEqualTo(50);
  }

  @ParameterizedTest
  @EnumSource
  void whatIsTooLongForAStagingBlockComesByItself(Sources targets) {
    open(SimulatedHardware.discrete());
    fetched(targets, 12, 80_000);
  }

  @ParameterizedTest
  @EnumSource
  void whatDoesNotFitAStagingBlockGoesByItself(Sources sources) {
    open(SimulatedHardware.discrete());
    moved(sources, 12, 80_000);
  }

  @ParameterizedTest
  @EnumSource(names = {"REFUSED", "BROKEN", "DEVICE_LOST"})
  void aFailureIsThrownWhenNothingIsUnderWayAnyMore(Failure failure) {
    open(SimulatedHardware.discrete());
    Block block = device.allocate(BLOCK, 64, BlockKind.DEVICE);
    byte[] model = new byte[BLOCK];
    List<Move> moves = moves(Sources.ARRAYS, 500, 2000, block, MemorySegment.NULL, model);
    faults.fail(SpiCall.SCATTER, 3, failure);
    assertThatThrownBy(() -> link.coalesced().upload(moves))
        .isInstanceOf(AcceleratorException.class);
    if (failure != Failure.DEVICE_LOST) {
      link.fill(block, BLOCK, (byte) 0);
      link.coalesced().upload(moves);
      assertThat(contents(block)).as("written again").isEqualTo(model);
    }
    try {
      block.free();
    } catch (AcceleratorException lost) {
      assertThat(failure).isEqualTo(Failure.DEVICE_LOST);
    }
  }

  @Test
  void nothingToMoveAsksForNothing() {
    open(SimulatedHardware.discrete());
    long writes = ledger().calls(SpiCall.WRITE);
    link.coalesced().upload(List.of());
    link.coalesced().download(List.of());
    assertThat(ledger().calls(SpiCall.WRITE)).isEqualTo(writes);
    assertThat(ledger().calls(SpiCall.SCATTER)).isZero();
  }
}
