package dev.tidepool.spring;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.springframework.boot.health.contributor.Status;

/**
 * What a check of the health costs with 10,000 live buffers. Before each some time passes, as
 * between real ones; then caches have other data.
 *
 * <p>No test by its name, so that only {@code -Dtest=HealthComparison} runs it.
 */
class HealthComparison {
  private static final int BUFFERS = 10_000;
  private static final int WARMUPS = 100_000;
  private static final int CHECKS = 100;
  private static final long PAUSE_NANOS = 110_000_000;

  @Test
  void takesMicroseconds() {
    MemoryOptions options = MemoryOptions.defaults();
    List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
    try (Tidepool tidepool = Tidepool.open(options)) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
      for (int i = 0; i < BUFFERS; i++) {
        buffers.add(memory.allocate(ElementType.BYTE, 1024));
      }
      TidepoolHealthIndicator health = new TidepoolHealthIndicator(memory, options);
      for (int i = 0; i < WARMUPS; i++) {
        check(health);
      }
      long[] nanos = new long[CHECKS];
      for (int i = 0; i < CHECKS; i++) {
        LockSupport.parkNanos(PAUSE_NANOS);
        long start = System.nanoTime();
        check(health);
        nanos[i] = System.nanoTime() - start;
      }
      Arrays.sort(nanos);
      System.out.printf(
          Locale.ROOT,
          "health: %.0f us, 95th percentile %.0f us%n",
          nanos[CHECKS / 2] / 1e3,
          nanos[CHECKS * 95 / 100] / 1e3);
      buffers.forEach(UnifiedBuffer::close);
    }
  }

  private static void check(TidepoolHealthIndicator health) {
    if (!health.health().getStatus().equals(Status.UP)) {
      throw new IllegalStateException("not healthy: " + health.health());
    }
  }
}
