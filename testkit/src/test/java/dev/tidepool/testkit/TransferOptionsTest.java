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
import dev.tidepool.transfer.TransferReport;
import dev.tidepool.transfer.TransferWay;
import dev.tidepool.transfer.WayStatistics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
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

  /** Arrays that together have the expected bytes, each with its part of the buffer. */
  private static List<Transfer<?>> parts(byte[] expected, UnifiedBuffer<byte[]> buffer, int bytes) {
    List<Transfer<?>> pairs = new ArrayList<>();
    for (int at = 0; at < expected.length; at += bytes) {
      pairs.add(Transfer.of(Arrays.copyOfRange(expected, at, at + bytes), buffer.slice(at, bytes)));
    }
    return pairs;
  }

  private long writes() {
    return device().ledger().calls(SpiCall.WRITE) + device().ledger().calls(SpiCall.SCATTER);
  }

  /** Copies an array by a list of equal parts; returns how many commands that took. */
  private long commands(
      UnifiedMemoryManager memory, int count, int bytes, TransferOptions options) {
    byte[] expected = Patterns.array(ElementType.BYTE, count * bytes, 1);
    try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, count * bytes)) {
      long before = writes();
      memory.transfers().transfer(parts(expected, buffer, bytes), options).orThrow();
      long commands = writes() - before;
      byte[] back = new byte[count * bytes];
      buffer.copyTo(back);
      Patterns.assertEqual(back, expected, "what came back");
      return commands;
    }
  }

  /** Checks how many of four parts the device gets before the first has arrived. */
  private void assertSubmittedAtOnce(
      UnifiedMemoryManager memory, TransferOptions options, int count) throws InterruptedException {
    byte[] expected = Patterns.array(ElementType.BYTE, 4 * TOO_LARGE_FOR_A_BATCH, 1);
    try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, expected.length)) {
      long before = writes();
      device().pause();
      CompletableFuture<TransferReport> report =
          memory.transfers().transferAsync(parts(expected, buffer, TOO_LARGE_FOR_A_BATCH), options);
      try {
        await(options.toString()).until(() -> writes() - before == count);
        Thread.sleep(100);
        assertThat(writes() - before).as(options.toString()).isEqualTo(count);
      } finally {
        device().resume();
      }
      TransferReport all = report.join().orThrow();
      assertThat(writes() - before).isEqualTo(4);
      assertThat(all.outcomes())
          .allSatisfy(
              each -> assertThat(each.duration()).isBetween(Duration.ofNanos(1), all.elapsed()));
    }
  }

  @Test
  void partsOfABufferOverlapUnlessAnOptionIsAboutEachOfThem() throws InterruptedException {
    try (Tidepool tidepool = open(MemoryOptions.defaults())) {
      UnifiedMemoryManager memory = tidepool.memory();
      assertSubmittedAtOnce(memory, TransferOptions.defaults(), 4);
      for (TransferOptions each :
          List.of(
              TransferOptions.builder().chunkSize(1024 * KIB).build(),
              TransferOptions.builder().pipelining(false).build(),
              TransferOptions.builder().maxConcurrency(1).build(),
              TransferOptions.builder().progress((_, _) -> {}).build())) {
        assertSubmittedAtOnce(memory, each, 1);
        assertThat(commands(memory, 16, KIB, each)).as("small ones, " + each).isOne();
      }
      TransferOptions chunks = TransferOptions.builder().chunkSize(32 * KIB).build();
      assertThat(commands(memory, 4, 128 * KIB, chunks)).isEqualTo(16);
    }
  }

  @Test
  void smallTransfersThatMayNotUsePageLockedMemoryGoOneByOne() {
    try (Tidepool tidepool = open(MemoryOptions.defaults())) {
      UnifiedMemoryManager memory = tidepool.memory();
      TransferOptions plain = TransferOptions.builder().pinned(false).build();
      assertThat(commands(memory, 16, KIB, plain)).isEqualTo(16);
      assertThat(memory.transfers().statistics().way(TransferWay.STAGED_PLAIN).transfers())
          .isEqualTo(16);
    }
  }
}
