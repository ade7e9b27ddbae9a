package dev.tidepool.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.transfer.TransferPriority;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Urgent transfers go first between chunks, and none starves. */
@Timeout(60)
class PriorityGateTest {
  private final PriorityGate gate = new PriorityGate();

  private static TransferContext context(TransferPriority priority, AtomicInteger chunks) {
    return new TransferContext(priority, 0, true, true, _ -> chunks.incrementAndGet());
  }

  /** A bulk transfer on a thread of its own, which has submitted all chunks that it may. */
  private Thread bulk(int chunks, AtomicInteger submitted) {
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  try (PriorityGate.Passage passage =
                      gate.enter(context(TransferPriority.LOW, submitted))) {
                    for (int i = 0; i < chunks; i++) {
                      passage.chunk(1);
                    }
                  }
                });
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> !thread.isAlive() || thread.getState() == Thread.State.WAITING);
    return thread;
  }

  @Test
  void bulkWaitsBetweenItsChunksWhileSomebodyUrgentIsInside() throws InterruptedException {
    AtomicInteger submitted = new AtomicInteger();
    Thread waiting;
    try (PriorityGate.Passage urgent =
        gate.enter(context(TransferPriority.HIGH, new AtomicInteger()))) {
      waiting = bulk(3, submitted);
      urgent.chunk(1);
      assertThat(submitted).hasValue(0);
    }
    waiting.join();
    assertThat(submitted).hasValue(3);
  }

  @Test
  void aTransferOfOneChunkWaitsForSomebodyUrgentAndCountsAsInside() throws InterruptedException {
    AtomicInteger submitted = new AtomicInteger();
    TransferContext low = context(TransferPriority.LOW, new AtomicInteger());
    TransferContext high = context(TransferPriority.HIGH, new AtomicInteger());
    Thread waiting =
        Thread.ofPlatform().unstarted(() -> gate.passOneChunk(low, 1, submitted::incrementAndGet));
    gate.passOneChunk(
        high,
        1,
        () -> {
          assertThat(gate.isBusy()).isTrue();
          waiting.start();
          await()
              .atMost(Duration.ofSeconds(20))
              .until(() -> waiting.getState() == Thread.State.WAITING);
          assertThat(submitted).hasValue(0);
        });
    waiting.join();
    assertThat(submitted).hasValue(1);
    assertThat(gate.isBusy()).isFalse();
  }

  @Test
  void equalsDoNotWaitForEachOther() {
    AtomicInteger submitted = new AtomicInteger();
    try (PriorityGate.Passage _ = gate.enter(context(TransferPriority.LOW, new AtomicInteger()))) {
      bulk(3, submitted);
      assertThat(submitted).hasValue(3);
    }
  }

  @Test
  void oneOfSeventeenChunksIsBulk() {
    AtomicInteger submitted = new AtomicInteger();
    try (PriorityGate.Passage urgent =
        gate.enter(context(TransferPriority.HIGH, new AtomicInteger()))) {
      Thread waiting = bulk(2, submitted);
      for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < 16; i++) {
          assertThat(submitted).hasValue(round - 1);
          urgent.chunk(1);
        }
        int expected = round;
        await()
            .atMost(Duration.ofSeconds(20))
            .until(
                () ->
                    submitted.get() == expected
                        && (!waiting.isAlive() || waiting.getState() == Thread.State.WAITING));
      }
    }
  }
}
