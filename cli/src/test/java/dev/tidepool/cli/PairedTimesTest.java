package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("Two ways that are timed in turns")
class PairedTimesTest {
  private int runs;

  @Test
  void count_without_their_warm_up() {
    PairedTimes times = PairedTimes.measure(1, this::fastAfterFiveRuns, () -> pause(2));
    assertThat(times.nanos()).isLessThan(TimeUnit.MILLISECONDS.toNanos(2));
    assertThat(times.otherNanos()).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(2));
  }

  private void fastAfterFiveRuns() {
    if (++runs <= 5) {
      pause(20);
    }
  }

  private static void pause(long millis) {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    while (System.nanoTime() < end) {
      LockSupport.parkNanos(end - System.nanoTime());
    }
  }
}
