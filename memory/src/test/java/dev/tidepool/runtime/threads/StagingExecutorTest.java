package dev.tidepool.runtime.threads;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StagingExecutorTest {
  @ParameterizedTest
  @CsvSource({"1, 0", "2, 0", "3, 0", "4, 1", "8, 3", "16, 7", "64, 7"})
  void halfOfTheProcessorsMoveATransfer(int processors, int helpers) {
    try (StagingExecutor executor = new StagingExecutor(processors, Thread::new)) {
      assertThat(executor.most()).isEqualTo(helpers);
    }
  }

  @Test
  void aTaskIsNeverQueued() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    CountDownLatch begun = new CountDownLatch(2);
    Runnable task =
        () -> {
          begun.countDown();
          try {
            over.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        };
    StagingExecutor executor = new StagingExecutor(6, Thread::new);
    assertThat(executor.tryStart(task)).isTrue();
    assertThat(executor.tryStart(task)).isTrue();
    begun.await();
    assertThat(executor.tryStart(task)).isFalse();
    executor.close();
    over.countDown();
    assertThat(executor.tryStart(task)).isFalse();
  }
}
