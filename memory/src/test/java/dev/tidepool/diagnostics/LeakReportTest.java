package dev.tidepool.diagnostics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.LogLines;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Leaks are told once for each owner and place: to a listener, and in few lines of the log. */
final class LeakReportTest {
  private final Queue<LeakReport> reports = new ConcurrentLinkedQueue<>();
  @RegisterExtension final LogLines log = new LogLines();

  private MemoryOptions reported(DiagnosticsLevel level) {
    return MemoryOptions.builder()
        .diagnostics(level)
        .siteSampling(1)
        .reportListener(report -> reports.add((LeakReport) report))
        .build();
  }

  private static UnifiedBuffer<float[]> lost(UnifiedMemoryManager memory, String tag) {
    return memory.allocate(ElementType.FLOAT, 1000, tagged(tag));
  }

  private void awaitReported(long buffers) {
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> {
              System.gc();
              return reports.stream().mapToLong(LeakReport::buffers).sum() == buffers;
            });
  }

  @Test
  void unreachableBuffersOfOnePlaceAreOneReport() {
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(reported(DiagnosticsLevel.SITES))) {
      for (int i = 0; i < 3000; i++) {
        assertThat(lost(memory, "planted").length()).isEqualTo(1000);
      }
      awaitReported(3000);
      assertThat(reports.stream().mapToLong(LeakReport::bytes).sum()).isEqualTo(3000 * 4000L);
      assertThat(reports)
          .allSatisfy(
              report -> {
                assertThat(report)
                    .returns(LeakReport.Cause.UNREACHABLE, LeakReport::cause)
                    .returns("cpu:0", LeakReport::accelerator)
                    .returns("planted", LeakReport::tag)
                    .returns("FLOAT", LeakReport::elementType)
                    .returns(MemoryLocation.HOST, LeakReport::location);
                assertThat(report.site())
                    .startsWith("dev.tidepool.diagnostics.LeakReportTest.lost(");
                assertThat(report.age()).isPositive();
              });
      // As many reports as there were looks at what the collector found, not as buffers.
      assertThat(reports).hasSizeLessThan(300);
      assertThat(log.all()).hasSize(reports.size());
      assertThat(log.all().getFirst()).contains("'planted'", "LeakReportTest.lost(");
    }
  }

  @Test
  void aTagForgesNoLineOfTheLog() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create(reported(DiagnosticsLevel.OFF));
        UnifiedBuffer<float[]> open = lost(memory, "a\nWARNING b\u001b[2J\u202e")) {
      assertThat(open.toString()).contains("'a\\nWARNING b\\u001b[2J\\u202e'");
      memory.close();
      assertThat(log.all().getLast()).contains("'a\\u000aWARNING b\\u001b[2J\\u202e'");
      assertThat(reports.peek().tag()).isEqualTo("a\nWARNING b\u001b[2J\u202e");
    }
  }

  @Test
  void withoutSitesTheReportSaysHowToSeeThem() {
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(reported(DiagnosticsLevel.OFF))) {
      assertThat(lost(memory, "planted").length()).isEqualTo(1000);
      awaitReported(1);
      assertThat(reports.peek().site()).isEmpty();
      assertThat(log.all().getFirst()).contains("'planted'", "tidepool.diagnostics=sites");
    }
  }

  @Test
  void whatIsOpenWhenTheManagerClosesIsReportedWithItsPlace() {
    List<UnifiedBuffer<float[]>> held = new ArrayList<>();
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(reported(DiagnosticsLevel.SITES))) {
      for (int i = 0; i < 10; i++) {
        held.add(lost(memory, i < 3 ? "few" : "many"));
      }
      held.getFirst().fill((byte) 1);
      held.add(lost(memory, "closed"));
      held.getLast().close();
    }
    assertThat(held).hasSize(11);
    assertThat(reports).hasSize(2);
    assertThat(List.copyOf(reports).getFirst())
        .returns(LeakReport.Cause.OPEN_AT_CLOSE, LeakReport::cause)
        .returns("many", LeakReport::tag)
        .returns(7L, LeakReport::buffers)
        .returns(28_000L, LeakReport::bytes);
    assertThat(log.all()).hasSize(3);
    assertThat(log.all().getFirst()).contains("closed with 10 buffers open");
  }

  @Test
  void oneThatIsOpenIsToldAsOne() {
    List<UnifiedBuffer<float[]>> held = new ArrayList<>();
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(reported(DiagnosticsLevel.COUNTERS))) {
      held.add(lost(memory, "only"));
    }
    assertThat(held).hasSize(1);
    assertThat(log.all().getFirst()).endsWith("closed with 1 buffer open; it was freed");
  }

  @Test
  void thousandsOfOwnersAreTwentyLinesAndOneForTheRest() {
    List<UnifiedBuffer<float[]>> held = new ArrayList<>();
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(reported(DiagnosticsLevel.COUNTERS))) {
      for (int i = 0; i < 2000; i++) {
        held.add(lost(memory, "owner " + i));
      }
    }
    assertThat(held).hasSize(2000);
    assertThat(reports).hasSize(2000);
    assertThat(log.all()).hasSize(1 + 20 + 1);
    assertThat(log.all().getLast()).contains("1980 further buffers");
  }

  @Test
  void aListenerThatFailsStopsNothing() {
    Consumer<DiagnosticReport> failing =
        _ -> {
          throw new IllegalStateException("planted");
        };
    UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(MemoryOptions.builder().reportListener(failing).build());
    UnifiedBuffer<float[]> open = lost(memory, "open");
    memory.close();
    assertThat(memory.statistics().activeBuffers()).isZero();
    assertThat(log.all()).anyMatch(line -> line.contains("report listener failed"));
    open.close();
  }

  @Test
  @Timeout(60)
  void aListenerThatBlocksHoldsUpNoCloseAndHearsTheRestLater() throws Exception {
    CountDownLatch closed = new CountDownLatch(1);
    Consumer<DiagnosticReport> blocking =
        report -> {
          try {
            closed.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
          reports.add((LeakReport) report);
        };
    List<UnifiedBuffer<float[]>> held = new ArrayList<>();
    UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(MemoryOptions.builder().reportListener(blocking).build());
    held.add(lost(memory, "one"));
    held.add(lost(memory, "two"));
    memory.close();
    assertThat(reports).isEmpty();
    assertThat(log.all()).as("told although its listener blocks").hasSize(4);
    assertThat(log.all().getLast()).contains("report listener", "2 reports");
    closed.countDown();
    await().until(() -> reports.size() == 2);
    assertThat(held).hasSize(2);
  }

  @Test
  @Timeout(60)
  void reportsAreHeardInOrderOnOneThreadOfTheLibraryBeforeCloseReturns() {
    Queue<String> threads = new ConcurrentLinkedQueue<>();
    Consumer<DiagnosticReport> slow =
        report -> {
          LockSupport.parkNanos(1_000_000);
          threads.add(Thread.currentThread().getName());
          reports.add((LeakReport) report);
        };
    List<UnifiedBuffer<float[]>> held = new ArrayList<>();
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(MemoryOptions.builder().reportListener(slow).build())) {
      for (int i = 0; i < 100; i++) {
        held.add(memory.allocate(ElementType.FLOAT, 1000 - i, tagged("owner " + i)));
      }
    }
    assertThat(reports.stream().map(LeakReport::tag))
        .containsExactlyElementsOf(IntStream.range(0, 100).mapToObj(i -> "owner " + i).toList());
    assertThat(threads).allSatisfy(name -> assertThat(name).startsWith("tidepool-"));
    assertThat(held).hasSize(100);
  }

  @Test
  @Timeout(60)
  void aListenerMayCloseTheManagerItself() {
    AtomicReference<UnifiedMemoryManager> memory = new AtomicReference<>();
    Queue<String> heard = new ConcurrentLinkedQueue<>();
    Consumer<DiagnosticReport> closing =
        report -> {
          memory.get().close();
          heard.add(((LeakReport) report).tag());
        };
    memory.set(
        UnifiedMemoryManager.create(
            MemoryOptions.builder()
                .diagnostics(DiagnosticsLevel.SITES)
                .siteSampling(1)
                .reportListener(closing)
                .build()));
    UnifiedBuffer<float[]> kept = lost(memory.get(), "open when closed");
    assertThat(lost(memory.get(), "planted").length()).isEqualTo(1000);
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> {
              System.gc();
              return heard.size() == 2;
            });
    assertThat(heard).containsExactly("planted", "open when closed");
    kept.close();
  }

  private static Allocation tagged(String tag) {
    return Allocation.at(MemoryLocation.HOST).tag(tag);
  }
}
