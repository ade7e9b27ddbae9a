package dev.tidepool.diagnostics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.time.Instant;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a buffer tells of its own accesses. */
final class BufferMetricsTest {
  private final UnifiedMemoryManager memory = UnifiedMemoryManager.create();
  private final UnifiedBuffer<float[]> buffer =
      memory.allocate(ElementType.FLOAT, 100, MemoryLocation.HOST);

  @AfterEach
  void close() {
    memory.close();
  }

  @Test
  void everyViewCountsAsAnAccessHoweverOftenItIsTaken() {
    UnifiedBuffer<float[]> slice = buffer.slice(10, 20);
    for (int i = 1; i <= 1000; i++) {
      assertThat(buffer.asSegment().byteSize()).isEqualTo(400);
      assertThat(buffer.metrics().hits()).isEqualTo(3L * i - 2);
      assertThat(slice.asSegment().byteSize()).isEqualTo(80);
      assertThat(buffer.metrics().hits()).isEqualTo(3L * i - 1);
      assertThat(buffer.asReadOnlySegment().byteSize()).isEqualTo(400);
      assertThat(buffer.metrics().hits()).isEqualTo(3L * i);
    }
    assertThat(buffer.metrics().misses()).isZero();
  }

  @Test
  void viewsThatAreTakenOneAfterAnotherOnSeveralThreadsAllCount() throws Exception {
    for (int i = 0; i < 4; i++) {
      Thread.ofPlatform()
          .start(
              () -> {
                for (int k = 0; k < 1000; k++) {
                  var _ = buffer.asSegment();
                }
              })
          .join();
    }
    assertThat(buffer.metrics().hits()).isEqualTo(4000);
  }

  @Test
  void aViewThatWasTakenBeforeIsSeenAsTheLastAccess() {
    for (boolean reads : new boolean[] {false, true}) {
      var _ = buffer.asSegment();
      Instant before = Instant.now();
      // The view is looked at no more often than the clock of the maintenance thread goes on.
      await()
          .until(
              () -> {
                var _ = reads ? buffer.asReadOnlySegment() : buffer.asSegment();
                return buffer.metrics().lastAccess().isAfter(before);
              });
      assertThat(buffer.metrics().lastAccess()).isBefore(Instant.now().plusSeconds(1));
    }
  }

  @Test
  void toAskForTheMetricsOfABufferIsNoAccess() {
    Instant allocated = Instant.now();
    await().until(() -> Instant.now().isAfter(allocated.plusMillis(50)));
    assertThat(buffer.metrics().lastAccess()).isBefore(allocated.plusMillis(40));
    assertThat(buffer.metrics().hits()).isZero();
  }
}
