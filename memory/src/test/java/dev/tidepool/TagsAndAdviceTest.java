package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.diagnostics.BufferMetrics;
import dev.tidepool.transfer.WayStatistics;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Short forms of the API: tags, advice for what cannot be copied, work in the background. */
class TagsAndAdviceTest {
  private final Tidepool tidepool = Tidepool.open();
  private final UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));

  @AfterEach
  void close() {
    tidepool.close();
  }

  record Point(float x, float y) {}

  @Test
  void copiesWrappedMemoryAndMappedFilesHaveTags(@TempDir Path folder) throws Exception {
    Path file = Files.write(folder.resolve("numbers"), new byte[8]);
    try (Arena arena = Arena.ofShared();
        var copied = memory.copyOf(new int[4], Allocation.at(MemoryLocation.HOST).tag("copied"));
        var wrapped =
            memory.wrap(ElementType.INT, arena.allocate(12, 8), MemoryLocation.HOST, "mine");
        var mapped = memory.map(file, ElementType.INT, MapMode.READ, "input")) {
      assertThat(memory.bytesByTag())
          .containsEntry("copied", 16L)
          .containsEntry("mine", 12L)
          .containsEntry("input", 8L);
      assertThat(copied.location()).isEqualTo(MemoryLocation.HOST);
      assertThat(wrapped.length()).isEqualTo(3);
      assertThat(mapped.length()).isEqualTo(2);
    }
  }

  @Test
  void whatCannotBeCopiedGetsAdvice() {
    assertAdvice("text".toCharArray(), "UNSIGNED_SHORT");
    assertAdvice(3, "array of one element");
    assertAdvice(new float[2][2], "each row to its slice");
    assertAdvice(new Point[0], "ElementType.struct(Point.class)");
    assertAdvice(new Integer[] {1}, "array of primitives");
    assertAdvice("text", "allocate a buffer");
  }

  private void assertAdvice(Object source, String advice) {
    assertThatThrownBy(() -> memory.copyOf(source))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(source.getClass().getTypeName())
        .hasMessageContaining(advice);
  }

  @Test
  void aManagerWorksInTheBackground() {
    try (UnifiedBuffer<int[]> buffer = memory.allocateAsync(ElementType.INT, 5).join()) {
      assertThat(buffer.length()).isEqualTo(5);
      var filled = buffer.fillAsync(new int[] {7});
      memory.synchronizeAsync().join();
      assertThat(filled).isCompleted();
      assertThat(memory.defragmentAsync().join()).isNotNull();
    }
    String name = "background-" + UUID.randomUUID();
    try (UnifiedBuffer<int[]> created =
            memory.createSharedAsync(ElementType.INT, 4, name, MemoryLocation.HOST).join();
        UnifiedBuffer<int[]> opened =
            memory.openSharedAsync(ElementType.INT, name, MemoryLocation.HOST).join()) {
      created.copyFrom(new int[] {1, 2, 3, 4});
      int[] seen = new int[4];
      opened.copyTo(seen);
      assertThat(seen).containsExactly(1, 2, 3, 4);
    }
    memory.close();
    assertThatThrownBy(memory::synchronizeAsync).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(memory::defragmentAsync).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aPreferredAcceleratorMayBeMissing() {
    tidepool.orchestrator().register("twice", KernelSource.elementwise("y = 2 * x"));
    float[] y = new float[2];
    Arguments arguments = Arguments.of("x", new float[] {1, 2}, "y", y);
    ExecutionOptions options = ExecutionOptions.defaults();
    tidepool.orchestrator().execute("twice", arguments, options.preferring("cuda:77"));
    assertThat(y).containsExactly(2, 4);
    tidepool.orchestrator().register("negated", KernelSource.elementwise("y = -x"));
    tidepool.orchestrator().execute("negated", arguments, options.preferring("cpu"));
    assertThat(y).containsExactly(-1, -2);
    assertThatThrownBy(
            () -> tidepool.orchestrator().execute("twice", arguments, options.on("cuda:77")))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(new ExecutionOptions(Optional.of("cpu:0"), Optional.empty()))
        .isEqualTo(options.on("cpu:0"));
  }

  @Test
  void metricsHaveRatesAndMeans() {
    Duration time = Duration.ofMillis(12);
    BufferMetrics metrics = new BufferMetrics(8, 8, 4, time, Instant.EPOCH, 3, 1);
    assertThat(metrics.hitRate()).isEqualTo(0.75);
    assertThat(metrics.averageTime()).isEqualTo(Duration.ofMillis(3));
    assertThat(new WayStatistics(3, 9, time).averageTime()).isEqualTo(Duration.ofMillis(4));
    assertThat(new WayStatistics(0, 0, Duration.ZERO).averageTime()).isZero();
    assertThat(memory.transfers().statistics().hostToDeviceAverageTime()).isZero();
  }
}
