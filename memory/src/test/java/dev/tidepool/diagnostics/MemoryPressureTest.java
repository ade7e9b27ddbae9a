package dev.tidepool.diagnostics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Filter;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

/** The listener is called once each time memory fills up. */
final class MemoryPressureTest {
  private static final int MIB = 1 << 20;

  private final ConcurrentLinkedQueue<MemoryPressure> heard = new ConcurrentLinkedQueue<>();

  private MemoryOptions.Builder limited() {
    return MemoryOptions.builder()
        .memoryLimit(100L * MIB)
        .pooling(false)
        .pressureListener(
            pressure -> {
              if (pressure.source() == MemoryPressure.Source.MANAGER) {
                heard.add(pressure);
              }
            });
  }

  private List<Double> marks(int count) {
    await().until(() -> heard.size() >= count);
    return heard.stream().map(MemoryPressure::watermark).toList();
  }

  @Test
  void eachWatermarkOfTheLimitIsToldOnceUntilTheLevelHasFallenClearlyBelow() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited().build())) {
      UnifiedBuffer<byte[]> most = memory.allocate(ElementType.BYTE, 69 * MIB);
      UnifiedBuffer<byte[]> one = memory.allocate(ElementType.BYTE, MIB);
      assertThat(marks(1)).containsExactly(0.7);
      assertThat(heard.peek())
          .isEqualTo(
              new MemoryPressure(
                  MemoryPressure.Source.MANAGER, "cpu:0", 0.7, 70L * MIB, 100L * MIB));
      for (int i = 0; i < 20; i++) {
        one.close();
        one = memory.allocate(ElementType.BYTE, MIB);
      }
      UnifiedBuffer<byte[]> more = memory.allocate(ElementType.BYTE, 25 * MIB);
      assertThat(marks(2)).as("trembling around 0.7 is told once").containsExactly(0.7, 0.9);
      one.close();
      more.close();
      most.close();
      memory.allocate(ElementType.BYTE, 75 * MIB).close();
      assertThat(marks(3)).containsExactly(0.7, 0.9, 0.7);
    }
  }

  @Test
  void whatIsHeardIsHeardOnAThreadOfTheLibraryThatMayCloseBuffers() {
    AtomicReference<UnifiedBuffer<byte[]>> victim = new AtomicReference<>();
    AtomicReference<String> thread = new AtomicReference<>();
    MemoryOptions options =
        limited()
            .watermarks(0.5)
            .pressureListener(
                _ -> {
                  thread.set(Thread.currentThread().getName());
                  victim.get().close();
                })
            .build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      victim.set(memory.allocate(ElementType.BYTE, 40 * MIB));
      try (UnifiedBuffer<byte[]> _ = memory.allocate(ElementType.BYTE, 20 * MIB)) {
        await().until(() -> memory.statistics().totalAllocated() == 20 * MIB);
      }
      assertThat(thread.get()).startsWith("tidepool-completion-");
    }
  }

  @Test
  void aListenerThatFailsHarmsNobody() {
    MemoryOptions options =
        limited()
            .watermarks(0.1, 0.2)
            .pressureListener(
                pressure -> {
                  heard.add(pressure);
                  throw new IllegalStateException("on purpose");
                })
            .build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options)) {
      memory.allocate(ElementType.BYTE, 30 * MIB).close();
      marks(2);
      memory.allocate(ElementType.BYTE, MIB).close();
    }
  }

  @Test
  void anErrorOfAListenerIsLoggedAndEndsNoThread() {
    List<Throwable> escaped = new CopyOnWriteArrayList<>();
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    Logger logger = Logger.getLogger("dev.tidepool");
    Queue<LogRecord> logged = new ConcurrentLinkedQueue<>();
    Filter filter =
        record -> {
          logged.add(record);
          return false;
        };
    logger.setFilter(filter);
    Thread.setDefaultUncaughtExceptionHandler((_, failure) -> escaped.add(failure));
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(
            limited()
                .watermarks(0.1, 0.2)
                .pressureListener(
                    pressure -> {
                      heard.add(pressure);
                      throw new AssertionError("on purpose");
                    })
                .build())) {
      memory.allocate(ElementType.BYTE, 30 * MIB).close();
      marks(2);
      await().until(() -> logged.size() + escaped.size() == 2);
      assertThat(escaped).isEmpty();
      assertThat(logged)
          .allSatisfy(
              record -> {
                assertThat(record.getMessage()).contains("the pressure listener failed on");
                assertThat(record.getThrown()).hasMessage("on purpose");
              });
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(before);
      logger.setFilter(null);
    }
  }

  @Test
  void manyThreadsThatCrossAWatermarkTogetherTellItOnce() throws Exception {
    try (UnifiedMemoryManager memory =
            UnifiedMemoryManager.create(limited().watermarks(0.5).build());
        ExecutorService threads = Executors.newFixedThreadPool(8)) {
      List<Future<UnifiedBuffer<byte[]>>> buffers = new ArrayList<>();
      for (int i = 0; i < 80; i++) {
        buffers.add(threads.submit(() -> memory.allocate(ElementType.BYTE, MIB)));
      }
      for (Future<UnifiedBuffer<byte[]>> buffer : buffers) {
        buffer.get();
      }
      assertThat(marks(1)).containsExactly(0.5);
      for (Future<UnifiedBuffer<byte[]>> buffer : buffers) {
        buffer.get().close();
      }
    }
    assertThat(heard).hasSize(1);
  }

  @Test
  void aLowerLimitIsACrossingToo() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(limited().build());
        UnifiedBuffer<byte[]> _ = memory.allocate(ElementType.BYTE, 50 * MIB)) {
      memory.limit(60L * MIB);
      assertThat(marks(1)).containsExactly(0.7);
    }
  }

  @Test
  void withoutALimitWatermarksArePartsOfTheDevicesMemory() {
    double small = 1e-9;
    MemoryOptions options = limited().memoryLimit(-1).watermarks(small).build();
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(options);
        UnifiedBuffer<byte[]> _ = memory.allocate(ElementType.BYTE, MIB)) {
      assertThat(marks(1)).containsExactly(small);
      assertThat(heard.element().totalBytes())
          .isEqualTo(memory.accelerator().memory().totalBytes());
    }
  }

  @Test
  void watermarksAreAnOptionThatPropertiesOverride() {
    System.setProperty("tidepool.watermarks", "0.25, 1");
    try {
      assertThat(MemoryOptions.builder().watermarks(0.5).build().watermarks())
          .containsExactly(0.25, 1.0);
    } finally {
      System.clearProperty("tidepool.watermarks");
    }
    assertThatThrownBy(() -> MemoryOptions.builder().watermarks(0.5, 1.5).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("watermarks is [0.5, 1.5]");
  }
}
