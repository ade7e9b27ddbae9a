package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferEngine;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferWay;
import dev.tidepool.transfer.WayStatistics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The options of transfers have the effect that they promise, seen by the driver. */
class TransferOptionsTest {
  private static final int KIB = 1024;
  private static final int TOO_LARGE_FOR_A_BATCH = 128 * KIB;

  private final SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());

  private Tidepool open(MemoryOptions options) {
    return Discovery.using(List.of(simulated), () -> Tidepool.open(options));
  }

  private SimulatedDevice device() {
    return simulated.device("simulated:0");
  }

  @Test
  void anArrayTravelsInChunksOfTheStagingSize() {
    for (int chunk : new int[] {16 * KIB, 64 * KIB, 1024 * KIB}) {
      try (Tidepool tidepool = open(MemoryOptions.builder().stagingChunk(chunk).build());
          UnifiedBuffer<byte[]> buffer = tidepool.memory().allocate(ElementType.BYTE, 256 * KIB)) {
        long before = device().ledger().calls(SpiCall.WRITE);
        buffer.copyFrom(new byte[256 * KIB]);
        assertThat(device().ledger().calls(SpiCall.WRITE) - before)
            .isEqualTo(Math.max(1, 256 * KIB / chunk));
      }
    }
  }

  @Test
  void noMoreTransfersRunSideBySideThanAllowed() throws InterruptedException {
    MemoryOptions options = MemoryOptions.builder().concurrentTransfers(3).build();
    try (Tidepool tidepool = open(options)) {
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      List<CompletableFuture<Void>> copies = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        buffers.add(tidepool.memory().allocate(ElementType.BYTE, TOO_LARGE_FOR_A_BATCH));
      }
      long before = device().ledger().calls(SpiCall.WRITE);
      device().pause();
      buffers.forEach(buffer -> copies.add(buffer.copyFromAsync(new byte[TOO_LARGE_FOR_A_BATCH])));
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> device().ledger().calls(SpiCall.WRITE) - before == 3);
      Thread.sleep(100);
      assertThat(device().ledger().calls(SpiCall.WRITE) - before).isEqualTo(3);
      device().resume();
      copies.forEach(CompletableFuture::join);
      assertThat(device().ledger().calls(SpiCall.WRITE) - before).isEqualTo(10);
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  /** Moves an array to a buffer and from there to another array, and answers the ways so far. */
  private static Map<TransferWay, WayStatistics> moved(
      UnifiedMemoryManager memory, UnifiedBuffer<byte[]> buffer, boolean pinned) {
    byte[] source = Patterns.array(ElementType.BYTE, (int) buffer.length(), 1);
    byte[] back = new byte[source.length];
    List<Transfer<?>> pairs = List.of(Transfer.of(source, buffer), Transfer.of(buffer, back));
    TransferOptions options = TransferOptions.builder().pinned(pinned).build();
    memory.transfers().transfer(pairs, options).orThrow();
    Patterns.assertEqual(back, source, "what came back");
    return memory.transfers().statistics().ways();
  }

  @Test
  void bytesThatMayNotUsePageLockedMemoryPassThroughPlainStagingBlocks() {
    try (Tidepool tidepool = open(MemoryOptions.builder().build());
        UnifiedBuffer<byte[]> large = tidepool.memory().allocate(ElementType.BYTE, 256 * KIB);
        UnifiedBuffer<byte[]> small = large.slice(64, 64)) {
      UnifiedMemoryManager memory = tidepool.memory();
      moved(memory, large, false);
      assertThat(moved(memory, small, false)).containsOnlyKeys(TransferWay.STAGED_PLAIN);
      assertThat(memory.statistics().pinnedBytes()).isZero();
      moved(memory, large, true);
      assertThat(moved(memory, small, true)).containsKey(TransferWay.STAGED_PINNED);
      assertThat(memory.statistics().pinnedBytes()).isPositive();
    }
  }

  @Test
  void aPageLockedBufferIsStagedWhereItsBytesMayNotGoStraight() {
    try (Tidepool tidepool = open(MemoryOptions.builder().build());
        UnifiedBuffer<byte[]> locked =
            tidepool.memory().allocate(ElementType.BYTE, 256 * KIB, MemoryLocation.PINNED);
        UnifiedBuffer<byte[]> device = tidepool.memory().allocate(ElementType.BYTE, 256 * KIB)) {
      for (boolean pinned : new boolean[] {false, true}) {
        TransferOptions options = TransferOptions.builder().pinned(pinned).build();
        TransferEngine engine = tidepool.memory().transfers();
        engine.transfer(List.of(Transfer.of(locked, device)), options).orThrow();
        assertThat(engine.statistics().way(TransferWay.STAGED_PLAIN).transfers()).isOne();
        assertThat(engine.statistics().way(TransferWay.PINNED_DIRECT).transfers())
            .isEqualTo(pinned ? 1 : 0);
      }
    }
  }
}
