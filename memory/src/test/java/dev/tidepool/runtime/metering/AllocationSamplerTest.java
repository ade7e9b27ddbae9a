package dev.tidepool.runtime.metering;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.data.Percentage.withPercentage;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class AllocationSamplerTest {
  private static final long DISTANCE = 64L << 10;

  /** The sampler never gets to double its distance: it is restarted after each sample. */
  private static long samples(long allocations, long bytes) {
    AllocationSampler sampling = new AllocationSampler(DISTANCE);
    long taken = 0;
    for (long i = 0; i < allocations; i++) {
      if (sampling.takes(bytes)) {
        taken++;
        sampling.restart();
      }
    }
    return taken;
  }

  @ParameterizedTest
  @ValueSource(longs = {100, 1024, 4096})
  void thereIsOneSampleInTheDistanceWhateverTheSizes(long bytes) {
    long total = 20_000 * DISTANCE;
    assertThat(samples(total / bytes, bytes)).isCloseTo(20_000, withPercentage(8));
  }

  @Test
  void buffersMuchLargerThanTheDistanceAreAllTaken() {
    assertThat(samples(1_000, 100 * DISTANCE)).isEqualTo(1_000);
  }

  @Test
  void whoAllocatesWithoutEndTakesFewStacksUntilTheRestart() {
    AllocationSampler sampling = new AllocationSampler(DISTANCE);
    for (int round = 0; round < 3; round++) {
      int taken = 0;
      for (int i = 0; i < 1_000_000; i++) {
        taken += sampling.takes(100 << 20) ? 1 : 0;
      }
      assertThat(taken).isBetween(17, 120);
      sampling.restart();
    }
  }

  @Test
  void aDistanceOfOneTakesEveryAllocationEmptyOnesToo() {
    AllocationSampler sampling = new AllocationSampler(1);
    for (int i = 0; i < 1_000; i++) {
      assertThat(sampling.takes(i % 2)).isTrue();
    }
  }
}
