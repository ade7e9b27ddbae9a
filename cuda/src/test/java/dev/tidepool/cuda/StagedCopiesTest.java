package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Without a kernel, many copies are one call of the driver, where it has that and takes them. */
@ExtendWith(NothingLeaks.class)
class StagedCopiesTest {
  private static final String BATCHES = "tidepool.cuda.batches";
  private static final String BATCH = "cuMemcpyBatchAsync";
  private static final String UP = "cuMemcpyHtoDAsync_v2";
  private static final String DOWN = "cuMemcpyDtoHAsync_v2";
  private static final int UNKNOWN = 999;
  private static final int BYTES = 48;

  private SimulatedCuda simulated;

  @BeforeEach
  void oneDeviceWithoutAKernel() {
    simulated = Simulation.with(1);
    System.setProperty(BATCHES, "always");
  }

  @AfterEach
  void asItWas() {
    System.clearProperty(BATCHES);
  }

  /** What a test does with a queue, a block and a staging block of the first device. */
  private interface Body {
    void run(Queue queue, Block block, MemorySegment staged);
  }

  private void onDevice(int pieces, Body body) {
    try (Device device = Simulation.devices().getFirst();
        Queue queue = device.createQueue()) {
      Block block = device.allocate(2L * BYTES * pieces, 64, BlockKind.DEVICE);
      Block staging = device.allocate((long) BYTES * pieces, 64, BlockKind.PINNED);
      try {
        body.run(queue, block, Objects.requireNonNull(staging.segment()));
      } finally {
        staging.free();
        block.free();
      }
    }
  }

  /** The last on the host is the first on the device, with gaps between. */
  private static List<Piece> pieces(int count, Block block) {
    List<Piece> pieces = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      pieces.add(new Piece((long) BYTES * i, block, 2L * BYTES * (count - 1 - i), BYTES));
    }
    return pieces;
  }

  /** A pattern goes to the device and comes back, and is compared at both ends. */
  private static void goesThereAndBack(Queue queue, int count, Block block, MemorySegment staged) {
    byte[] sent = Bytes.pattern(BYTES * count, count);
    MemorySegment.copy(sent, 0, staged, ValueLayout.JAVA_BYTE, 0, sent.length);
    Bytes.await(queue.fill(block, 0, 2L * BYTES * count, (byte) 7));
    Bytes.await(queue.scatter(staged, pieces(count, block)));
    staged.fill((byte) 0);
    Bytes.await(queue.read(block, 0, staged.asSlice(0, BYTES)));
    assertThat(staged.asSlice(0, BYTES).toArray(ValueLayout.JAVA_BYTE))
        .isEqualTo(Arrays.copyOfRange(sent, BYTES * (count - 1), BYTES * count));
    Bytes.await(queue.read(block, BYTES, staged.asSlice(0, BYTES)));
    assertThat(staged.asSlice(0, BYTES).toArray(ValueLayout.JAVA_BYTE)).containsOnly(7);
    Bytes.await(queue.gather(pieces(count, block), staged));
    assertThat(staged.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(sent);
  }

  private void goesByCalls(int count, long batches, long separateUp, long separateDown) {
    onDevice(
        count,
        (queue, block, staged) -> {
          simulated.forget();
          goesThereAndBack(queue, count, block, staged);
          assertThat(simulated.calls(BATCH)).isEqualTo(batches);
          assertThat(simulated.calls(UP)).isEqualTo(separateUp);
          // Two reads are the test's own.
          assertThat(simulated.calls(DOWN)).isEqualTo(separateDown + 2);
        });
  }

  @Test
  void aScatterAndAGatherAreOneCallEach() {
    goesByCalls(100, 2, 0, 0);
  }

  @Test
  void onePieceIsAnOrdinaryCopy() {
    onDevice(
        1,
        (queue, block, staged) -> {
          simulated.forget();
          Bytes.await(queue.scatter(staged, pieces(1, block)));
          assertThat(simulated.calls(BATCH)).isZero();
          assertThat(simulated.calls(UP)).isEqualTo(1);
        });
  }

  @Test
  void verySmallPiecesAreAFewThousandACall() {
    goesByCalls(5000, 4, 0, 0);
  }

  @Test
  void aGatherReadsWhatTheStreamHasWrittenBefore() {
    simulated.set(0, "latency_ns", 20_000_000);
    onDevice(
        10,
        (queue, block, staged) -> {
          staged.fill((byte) 1);
          queue.fill(block, 0, block.byteSize(), (byte) 9).close();
          Bytes.await(queue.gather(pieces(10, block), staged));
          assertThat(staged.toArray(ValueLayout.JAVA_BYTE)).containsOnly(9);
        });
  }

  @Test
  void aDriverWithoutBatchesCopiesEachPiece() {
    simulated.setAll("driver_version", 12_040);
    goesByCalls(100, 0, 100, 100);
  }

  @Test
  void aDriverOfTheFirstVersionWithBatchesHasThem() {
    simulated.setAll("driver_version", 12_080);
    goesByCalls(100, 2, 0, 0);
  }

  @Test
  void aDriverThatDoesNotFindTheFunctionCopiesEachPiece() {
    onDevice(
        10,
        (queue, block, staged) -> {
          simulated.fail("cuGetProcAddress_v2", 1, UNKNOWN);
          goesThereAndBack(queue, 10, block, staged);
          assertThat(simulated.calls(BATCH)).isZero();
          assertThat(simulated.calls("cuGetProcAddress_v2")).isEqualTo(1);
        });
  }

  @Test
  void whatIsRefusedAsABatchGoesPieceByPieceFromThenOn() {
    onDevice(
        10,
        (queue, block, staged) -> {
          simulated.forget();
          simulated.fail(BATCH, 1, ErrorCodes.CUDA_ERROR_NOT_SUPPORTED);
          goesThereAndBack(queue, 10, block, staged);
          assertThat(simulated.calls(BATCH)).isEqualTo(1);
          assertThat(simulated.calls(UP)).isEqualTo(10);
        });
  }

  @Test
  void aBatchThatIsRefusedMidwayArrivesWhole() {
    onDevice(
        10,
        (queue, block, staged) -> {
          simulated.forget();
          simulated.fail("batched_copy", 6, UNKNOWN);
          goesThereAndBack(queue, 10, block, staged);
          assertThat(simulated.calls(UP)).isEqualTo(10);
        });
  }

  @Test
  void aGatherThatIsRefusedMidwayArrivesWhole() {
    onDevice(
        10,
        (queue, block, staged) -> {
          simulated.forget();
          simulated.fail("batched_copy", 16, UNKNOWN);
          goesThereAndBack(queue, 10, block, staged);
          assertThat(simulated.calls(BATCH)).isEqualTo(2);
          assertThat(simulated.calls(DOWN)).isEqualTo(12);
        });
  }

  @Test
  void whatWasAcceptedHasEndedWhenTheRestIsRefused() {
    simulated.set(0, "latency_ns", 20_000_000);
    onDevice(
        10,
        (queue, block, staged) -> {
          simulated.fail("batched_copy", 6, UNKNOWN);
          simulated.fail(UP, 1, UNKNOWN);
          assertThatThrownBy(() -> queue.scatter(staged, pieces(10, block)))
              .isInstanceOf(AcceleratorException.class)
              .hasMessageContaining(UP)
              .hasMessageContaining("CUDA_ERROR_UNKNOWN");
          // Else the driver would tell of memory that is freed under a command.
        });
  }

  @Test
  void theLatestDevicesHaveBatchesOnlyWhenAskedFor() {
    simulated.set(0, "compute_capability", 100);
    goesByCalls(10, 2, 0, 0);
    Simulation.under(
        Map.of(BATCHES, "auto"),
        () -> {
          // Too few for a kernel.
          goesByCalls(2, 0, 2, 2);
          return null;
        });
  }

  @Test
  void batchesCanBeSwitchedOff() {
    Simulation.under(
        Map.of(BATCHES, "none"),
        () -> {
          goesByCalls(10, 0, 10, 10);
          return null;
        });
  }

  @Test
  @Tag("pageable")
  void pageableMemoryIsCopiedPieceByPiece() {
    onDevice(
        10,
        (queue, block, _) -> {
          try (Arena arena = Arena.ofShared()) {
            simulated.forget();
            goesThereAndBack(queue, 10, block, arena.allocate(10L * BYTES, 64));
            assertThat(simulated.calls(BATCH)).isZero();
          }
        });
  }

  @Test
  void aListOfAThousandTransfersIsAFewCalls() {
    transferAThousand(simulated);
    assertThat(simulated.calls(UP)).isLessThan(10);
    assertThat(simulated.calls(BATCH)).isBetween(1L, 20L);
  }

  /** Transfers a list of small pieces, with gaps between, and checks what has arrived. */
  static void transferAThousand(SimulatedCuda simulated) {
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
      try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, 8_192_000)) {
        buffer.fill((byte) 0);
        byte[] sent = Bytes.pattern(4096, 5);
        List<Transfer<?>> list = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
          list.add(Transfer.of(sent, buffer.slice(8192L * i, 4096)));
        }
        simulated.forget();
        memory.transfers().transfer(list, TransferOptions.defaults()).orThrow();
        byte[] all = new byte[8_192_000];
        buffer.copyTo(all);
        for (int i = 0; i < 1000; i++) {
          assertThat(Arrays.copyOfRange(all, 8192 * i, 8192 * i + 4096)).isEqualTo(sent);
          assertThat(all[8192 * i + 4096]).isZero();
        }
      }
    }
  }

  @Test
  void dirtyRangesAreAFewCalls() {
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cuda:0"));
      try (UnifiedBuffer<byte[]> buffer =
          memory.allocate(ElementType.BYTE, 8_192_000, MemoryLocation.DEVICE)) {
        buffer.fill((byte) 0);
        buffer.asSegment();
        buffer.synchronize();
        byte[] sent = Bytes.pattern(4096, 6);
        simulated.forget();
        for (int i = 0; i < 200; i++) {
          buffer.copyFrom(sent, 0, 8192L * i, 4096);
        }
        buffer.synchronize();
        assertThat(simulated.calls(UP) + simulated.calls(BATCH)).isLessThan(10);
        assertThat(simulated.calls(BATCH)).isPositive();
      }
    }
  }
}
