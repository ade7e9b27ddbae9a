package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.stream.pipeline.BufferEndpoint;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RunningPipelineTest {
  private static final long NANOS = TimeUnit.SECONDS.toNanos(2);

  /** Both pipelines end when both threads have begun or were refused, so they overlap. */
  @Test
  void ofTwoThreadsOneIsRefused() throws Exception {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        UnifiedBuffer<float[]> none = memory.allocate(ElementType.FLOAT, 0)) {
      // An idle machine runs thousands of rounds, and needs about a hundred to meet the race.
      long end = System.nanoTime() + NANOS;
      for (int round = 0; round == 0 || System.nanoTime() < end; round++) {
        RunningPipeline running = new RunningPipeline();
        AtomicInteger begun = new AtomicInteger();
        AtomicInteger refused = new AtomicInteger();
        StreamProgress waiting =
            (_, _) -> {
              begun.incrementAndGet();
              while (begun.get() + refused.get() < 2) {
                Thread.yield();
              }
            };
        ChunkedPipeline first = pipeline(memory, none, waiting);
        ChunkedPipeline second = pipeline(memory, none, waiting);
        AtomicInteger ready = new AtomicInteger();
        Thread other = Thread.startVirtualThread(() -> run(running, second, ready, refused));
        run(running, first, ready, refused);
        other.join();
        assertThat(begun).as("round " + round).hasValue(1);
      }
    }
  }

  private static ChunkedPipeline pipeline(
      UnifiedMemoryManager memory, UnifiedBuffer<float[]> none, StreamProgress progress) {
    BufferEndpoint<float[]> endpoint = new BufferEndpoint<>(none);
    return ChunkedPipeline.of(memory, memory.compile(KernelSource.elementwise("x = x + 1")))
        .source("x", endpoint)
        .sink("x", endpoint)
        .build(StreamOptions.defaults().withProgress(progress));
  }

  private static void run(
      RunningPipeline running,
      ChunkedPipeline pipeline,
      AtomicInteger ready,
      AtomicInteger refused) {
    ready.incrementAndGet();
    while (ready.get() < 2) {
      Thread.onSpinWait();
    }
    try {
      running.run(pipeline);
    } catch (IllegalStateException _) {
      refused.incrementAndGet();
    }
  }
}
