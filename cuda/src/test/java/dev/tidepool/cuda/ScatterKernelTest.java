package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Piece;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Many small pieces go to their places, and come from there, by a kernel. */
@ExtendWith(NothingLeaks.class)
class ScatterKernelTest {
  private static final String LAUNCH = "cuLaunchKernel";
  private static final String BATCH = "cuMemcpyBatchAsync";
  private static final int UNKNOWN = 999;
  private static final int GAP = 5;

  private SimulatedCuda simulated;

  @BeforeEach
  void oneDevice() {
    simulated = Simulation.with(1);
  }

  /** Pieces of random lengths, in turn in several blocks, with gaps between. */
  private void goesThereAndBack(int count, int longest, int targets) {
    SplittableRandom random = new SplittableRandom(count);
    try (Device device = Simulation.devices().getFirst();
        Queue queue = device.createQueue()) {
      List<Block> blocks = new ArrayList<>();
      long room = (long) (count / targets + 1) * (longest + GAP);
      for (int i = 0; i < targets; i++) {
        blocks.add(device.allocate(room, 64, BlockKind.DEVICE));
        Bytes.await(queue.fill(blocks.getLast(), 0, room, (byte) 7));
      }
      Block staging = device.allocate((long) count * longest, 64, BlockKind.PINNED);
      List<Piece> pieces = new ArrayList<>();
      long from = 0;
      for (int i = 0; i < count; i++) {
        int bytes = random.nextInt(longest + 1);
        long to = (long) (i / targets) * (longest + GAP) + random.nextInt(GAP);
        pieces.add(new Piece(from, blocks.get(i % targets), to, bytes));
        from += bytes;
      }
      MemorySegment staged = Objects.requireNonNull(staging.segment()).asSlice(0, from);
      byte[] sent = Bytes.pattern((int) from, count);
      MemorySegment.copy(sent, 0, staged, ValueLayout.JAVA_BYTE, 0, sent.length);
      Bytes.await(queue.scatter(staged, pieces));
      Bytes bytes = new Bytes(device, queue);
      for (Piece piece : pieces) {
        byte[] read =
            bytes.read(piece.block(), (int) piece.offset(), (int) Math.max(1, piece.bytes()) + 1);
        assertThat(read[(int) piece.bytes()]).isEqualTo((byte) 7);
        for (int i = 0; i < piece.bytes(); i++) {
          assertThat(read[i]).isEqualTo(sent[(int) piece.from() + i]);
        }
      }
      staged.fill((byte) 0);
      Bytes.await(queue.gather(pieces, staged));
      assertThat(staged.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(sent);
      staging.free();
      blocks.forEach(Block::free);
    }
  }

  @ParameterizedTest
  @CsvSource({"100, 48, 1, 2", "100, 4096, 3, 6", "500, 20, 1, 4", "12, 100000, 1, 2"})
  void aScatterAndAGatherAreFewLaunches(int count, int longest, int targets, long launches) {
    simulated.forget();
    goesThereAndBack(count, longest, targets);
    assertThat(simulated.calls(LAUNCH)).isEqualTo(launches);
    assertThat(simulated.calls(BATCH)).isZero();
  }

  @Test
  void inManyAllocationsTheyAreABatch() {
    simulated.forget();
    goesThereAndBack(100, 100, 9);
    assertThat(simulated.calls(LAUNCH)).isZero();
    assertThat(simulated.calls(BATCH)).isEqualTo(2);
  }

  @Test
  void withoutACompilerTheyAreABatch() {
    simulated.fail("cuModuleLoadDataEx", 1, UNKNOWN);
    goesThereAndBack(99, 100, 1);
    assertThat(simulated.calls(LAUNCH)).isZero();
    assertThat(simulated.calls(BATCH)).isEqualTo(2);
  }

  @Test
  void aListOfAThousandTransfersIsAFewLaunches() {
    StagedCopiesTest.transferAThousand(simulated);
    assertThat(simulated.calls(LAUNCH)).isBetween(1L, 40L);
  }
}
