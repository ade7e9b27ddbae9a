package dev.tidepool.stream.chunk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.stream.StreamOptions;
import dev.tidepool.stream.StreamProgress;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ChunkPlanTest {
  private static final StreamOptions DEFAULTS = StreamOptions.defaults();

  private static ChunkPlan.Work floats(long length, boolean shared) {
    return new ChunkPlan.Work(length, 4, 8, shared, 4, 1);
  }

  private static ChunkPlan plan(ChunkPlan.Work work, StreamOptions options) {
    return ChunkPlan.of(
        work, new ChunkPlan.Wishes(options.lanes(), options.chunkBytes(), options.memoryLimit()));
  }

  @Test
  void sharedMemoryGetsAWorkerMoreThanProcessorsAndChunksThatStayInTheCache() {
    assertThat(plan(floats(1L << 30, true), DEFAULTS)).isEqualTo(new ChunkPlan(5, (1 << 20) / 4));
    assertThat(plan(floats(1L << 30, true), DEFAULTS.withLanes(4)).workers()).isEqualTo(4);
  }

  @Test
  void aDeviceGetsFourWorkersAndLargerChunks() {
    assertThat(plan(floats(1L << 30, false), DEFAULTS)).isEqualTo(new ChunkPlan(4, (8 << 20) / 4));
  }

  @Test
  void oneProcessorStillHasTwoChunksInFlight() {
    assertThat(plan(new ChunkPlan.Work(1L << 30, 4, 8, true, 1, 1), DEFAULTS).workers())
        .isEqualTo(2);
    assertThat(plan(floats(1L << 30, true), DEFAULTS.withLanes(1)).workers()).isEqualTo(2);
  }

  @Test
  void aChunkIsCountedByItsWidestArray() {
    ChunkPlan plan =
        plan(new ChunkPlan.Work(1L << 30, 8, 13, true, 2, 1), DEFAULTS.withChunkBytes(64 << 10));

    assertThat(plan.chunk()).isEqualTo(8 << 10);
  }

  @Test
  void littleWorkIsDividedEvenlyAmongTheProcessorsOrDoneInOnePiece() {
    assertThat(plan(floats(100_000, true), DEFAULTS)).isEqualTo(new ChunkPlan(4, 25_600));
    assertThat(plan(floats(1024, true), DEFAULTS)).isEqualTo(new ChunkPlan(1, 1024));
    assertThat(plan(floats(1, true), DEFAULTS)).isEqualTo(new ChunkPlan(1, 1));
  }

  @Test
  void aMemoryLimitTooSmallSaysTheLeastThatWorks() {
    assertThatThrownBy(() -> plan(floats(1L << 30, true), DEFAULTS.withMemoryLimit(10_000)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("9.8 KiB is too small")
        .hasMessageContaining("8 bytes an element")
        .hasMessageContaining("the least that works is 16384 bytes");
    assertThat(plan(floats(1L << 30, true), DEFAULTS.withMemoryLimit(16_384)))
        .isEqualTo(new ChunkPlan(2, 1024));
    assertThatThrownBy(() -> plan(floats(100, false), DEFAULTS.withMemoryLimit(1599)))
        .hasMessageContaining("the least that works is 1600 bytes");
    assertThat(plan(floats(100, false), DEFAULTS.withMemoryLimit(1600)))
        .isEqualTo(new ChunkPlan(1, 100));
  }

  @Test
  void aLimitThatIsTooSmallForSeveralAcceleratorsIsNamedAsItWasGiven() {
    ChunkPlan.Work work = new ChunkPlan.Work(1L << 30, 4, 8, true, 4, 3);
    assertThatThrownBy(() -> plan(work, DEFAULTS.withMemoryLimit(49_000)))
        .hasMessageContaining("47.9 KiB is too small")
        .hasMessageContaining("on each of 3 accelerators")
        .hasMessageContaining("the least that works is 49152 bytes");
    assertThat(plan(work, DEFAULTS.withMemoryLimit(49_152))).isEqualTo(new ChunkPlan(2, 1024));
  }

  @Test
  void noPlanExceedsItsLimitAndEveryPlanHasTwoChunksInFlightOrOneInAll() {
    Random random = new Random(3);
    for (int i = 0; i < 20_000; i++) {
      long widest = 1L << random.nextInt(4);
      ChunkPlan.Work work =
          new ChunkPlan.Work(
              random.nextLong(1, 1L << (1 + random.nextInt(40))),
              widest,
              widest + random.nextInt(30),
              random.nextBoolean(),
              1 + random.nextInt(64),
              1 + random.nextInt(3));
      StreamOptions options =
          new StreamOptions(
              random.nextLong(1L << 26),
              random.nextLong(200_000, 1L << 31),
              random.nextInt(20),
              false,
              StreamProgress.NONE);
      ChunkPlan plan = plan(work, options);

      assertThat(plan.chunk()).isPositive();
      assertThat(plan.workers() * plan.chunk() * work.footprint() * work.accelerators())
          .isLessThanOrEqualTo(options.memoryLimit());
      assertThat(plan.workers() >= 2 || plan.chunk() >= work.length()).isTrue();
    }
  }
}
