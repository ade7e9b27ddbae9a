package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.ComputeOrchestrator;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticReport;
import dev.tidepool.diagnostics.UnclosedReport;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * A Tidepool that became unreachable without being closed is closed by the library, which reports
 * it; one of which anything is reachable is not.
 */
@Timeout(120)
class ForgottenTidepoolTest {
  @RegisterExtension static final QuietLog QUIET = new QuietLog();

  private static final int MANY = 12;
  private static final KernelSource EXPRESSION = KernelSource.elementwise("y = x + 1");

  private final Queue<DiagnosticReport> reports = new ConcurrentLinkedQueue<>();

  @TempDir private Path folder;

  private MemoryOptions options() {
    // Not a lambda or method of the test, which may refer to a Tidepool.
    return MemoryOptions.builder().reportListener(reports::add).calibration(false).build();
  }

  private Tidepool open(SimulatedProvider provider) {
    return Discovery.using(List.of(provider), () -> Tidepool.open(options()));
  }

  private static SimulatedProvider provider() {
    return new SimulatedProvider(SimulatedHardware.discrete());
  }

  private static SimulatedDevice device(SimulatedProvider provider) {
    return provider.device("simulated:0");
  }

  private static boolean isClosed(SimulatedProvider provider) {
    return device(provider).ledger().calls(SpiCall.CLOSE_DEVICE) > 0;
  }

  /** Uses queues, programs and memory of all kinds, and leaves some in pools and some in use. */
  private static void use(Tidepool tidepool) {
    UnifiedMemoryManager memory = tidepool.memory();
    try (UnifiedBuffer<byte[]> pooled = memory.allocate(ElementType.BYTE, 1 << 20)) {
      pooled.copyFrom(new byte[1 << 20]);
    }
    UnifiedBuffer<int[]> used = memory.allocate(ElementType.INT, 1000);
    used.copyFrom(new int[1000]);
    memory.compile(EXPRESSION).execute(Arguments.of("x", used, "y", used));
    tidepool.orchestrator().register("named", EXPRESSION);
    tidepool.orchestrator().execute("named", Arguments.of("x", used, "y", used));
    tidepool.memory(tidepool.accelerators().getLast()).copyOf(new int[1000]).fill((byte) 1);
  }

  private static void collectUntil(BooleanSupplier reached) throws InterruptedException {
    while (!reached.getAsBoolean()) {
      System.gc();
      Thread.sleep(20);
    }
  }

  private static void assertEmpty(SimulatedProvider provider) {
    assertThat(provider.violations()).isEmpty();
    assertThat(device(provider).liveBlocks()).isZero();
    assertThat(device(provider).livePrograms()).isZero();
    assertThat(device(provider).openQueues()).isZero();
  }

  @Test
  void whatItHeldIsGivenBackAndItIsReported() throws InterruptedException {
    List<SimulatedProvider> providers = new ArrayList<>();
    for (int i = 0; i < MANY; i++) {
      SimulatedProvider provider = provider();
      providers.add(provider);
      use(open(provider));
    }
    collectUntil(() -> providers.stream().allMatch(ForgottenTidepoolTest::isClosed));
    collectUntil(() -> reports.stream().filter(UnclosedReport.class::isInstance).count() == MANY);
    providers.forEach(ForgottenTidepoolTest::assertEmpty);
    assertThat(reports)
        .filteredOn(UnclosedReport.class::isInstance)
        .allSatisfy(
            report -> {
              assertThat(report.accelerator()).isEqualTo("simulated:0, cpu:0");
              assertThat(report.site()).contains("ForgottenTidepoolTest");
              assertThat(((UnclosedReport) report).bytes()).isGreaterThan(1 << 20);
              assertThat(report.toString()).contains("close it");
            });
  }

  @Test
  void aManagerOfItsOwnIsOneToo() throws InterruptedException {
    SimulatedProvider provider = provider();
    Discovery.using(
        List.of(provider),
        () -> {
          UnifiedMemoryManager.create(options())
              .allocate(ElementType.INT, 1000)
              .copyFrom(new int[1000]);
          return true;
        });
    collectUntil(() -> isClosed(provider));
    assertEmpty(provider);
  }

  @Test
  void foreignMemoryIsLetGo() throws Exception {
    SimulatedProvider provider = provider();
    Path file = folder.resolve("ints");
    Files.write(file, new byte[400]);
    try (Arena arena = Arena.ofShared()) {
      forgetForeign(provider, file, arena.allocate(400, 64));
      collectUntil(() -> isClosed(provider));
    }
    assertEmpty(provider);
  }

  private void forgetForeign(SimulatedProvider provider, Path file, MemorySegment segment)
      throws IOException {
    UnifiedMemoryManager memory = open(provider).memory();
    memory.wrap(ElementType.INT, segment).fill((byte) 1);
    memory.wrap(ElementType.INT, segment, dev.tidepool.MemoryLocation.PINNED).fill((byte) 1);
    memory.map(file, ElementType.INT, MapMode.READ_WRITE).fill((byte) 1);
  }

  @Test
  void aClosedOneIsNotReported() throws InterruptedException {
    try (Tidepool tidepool = open(provider())) {
      use(tidepool);
    }
    passATurn();
    assertThat(reports).noneMatch(UnclosedReport.class::isInstance);
  }

  /** Forgets another one and waits until that was noticed. */
  private void passATurn() throws InterruptedException {
    SimulatedProvider other = provider();
    MemoryOptions silent = MemoryOptions.defaults();
    use(Discovery.using(List.of(other), () -> Tidepool.open(silent)));
    collectUntil(() -> isClosed(other));
  }

  private void keeps(Function<Tidepool, Object> handle, Checks checks) throws Exception {
    SimulatedProvider provider = provider();
    Object[] held = {handle.apply(open(provider))};
    passATurn();
    assertThat(isClosed(provider)).as("closed though " + held[0] + " is reachable").isFalse();
    checks.check(held[0]);
    Reference.reachabilityFence(held[0]);
    held[0] = "";
    collectUntil(() -> isClosed(provider));
    assertEmpty(provider);
  }

  private interface Checks {
    void check(Object handle) throws Exception;
  }

  @Test
  void aBufferKeepsIt() throws Exception {
    keeps(
        tidepool -> tidepool.memory().copyOf(new int[] {1, 2, 3}),
        buffer -> {
          int[] back = new int[3];
          ((UnifiedBuffer<?>) buffer).slice(0, 3);
          @SuppressWarnings("unchecked") // as it was made
          UnifiedBuffer<int[]> ints = (UnifiedBuffer<int[]>) buffer;
          ints.copyTo(back);
          assertThat(back).containsExactly(1, 2, 3);
        });
  }

  @Test
  void aMappingKeepsIt() throws Exception {
    keeps(
        tidepool -> tidepool.memory().copyOf(new byte[] {7}).map(MapMode.READ).segment(),
        segment ->
            assertThat(((MemorySegment) segment).get(java.lang.foreign.ValueLayout.JAVA_BYTE, 0))
                .isEqualTo((byte) 7));
  }

  @Test
  void aKernelKeepsIt() throws Exception {
    keeps(
        tidepool -> tidepool.memory().compile(EXPRESSION),
        kernel -> {
          int[] y = new int[1];
          ((Kernel) kernel).execute(Arguments.of("x", new int[] {1}, "y", y));
          assertThat(y).containsExactly(2);
        });
  }

  @Test
  void anOrchestratorKeepsIt() throws Exception {
    keeps(
        Tidepool::orchestrator,
        orchestrator -> ((ComputeOrchestrator) orchestrator).register("later", EXPRESSION));
  }

  @Test
  void anAcceleratorKeepsIt() throws Exception {
    keeps(
        tidepool -> tidepool.accelerators().getFirst(),
        accelerator -> assertThat(((Accelerator) accelerator).memory().totalBytes()).isPositive());
  }

  @Test
  void aRunningOperationKeepsIt() throws Exception {
    SimulatedProvider provider = provider();
    CountDownLatch done = new CountDownLatch(1);
    startPaused(provider, done);
    passATurn();
    assertThat(isClosed(provider)).isFalse();
    device(provider).resume();
    done.await();
    collectUntil(() -> isClosed(provider));
    assertEmpty(provider);
  }

  private void startPaused(SimulatedProvider provider, CountDownLatch done) {
    UnifiedMemoryManager memory = open(provider).memory();
    UnifiedBuffer<int[]> buffer = memory.allocate(ElementType.INT, 1000);
    device(provider).pause();
    var _ = buffer.copyFromAsync(new int[1000]).thenRun(done::countDown);
  }
}
