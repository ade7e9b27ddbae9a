package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ComputeOrchestrator;
import dev.tidepool.ElementType;
import dev.tidepool.ExecutionOptions;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Kernels by name run where the data is, or where the caller wants them. */
@Timeout(120)
class OrchestratorTest {
  private static final KernelSource SAXPY = KernelSource.elementwise("y = a * x + y");

  private final SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
  private final Tidepool tidepool = Discovery.using(List.of(simulated), Tidepool::open);
  private final ComputeOrchestrator orchestrator = tidepool.orchestrator();

  @AfterEach
  void close() {
    tidepool.close();
    assertThat(simulated.violations()).isEmpty();
  }

  private long launches() {
    return simulated.device("simulated:0").ledger().calls(SpiCall.LAUNCH);
  }

  private static List<Long> launches(SimulatedProvider cards) {
    return Stream.of("simulated:0", "simulated:1")
        .map(id -> cards.device(id).ledger().calls(SpiCall.LAUNCH))
        .toList();
  }

  private UnifiedBuffer<float[]> on(String accelerator, float... values) {
    UnifiedBuffer<float[]> buffer =
        tidepool
            .memory(tidepool.accelerator(accelerator))
            .allocate(ElementType.FLOAT, values.length);
    buffer.copyFrom(values);
    return buffer;
  }

  private static float[] contents(UnifiedBuffer<float[]> buffer) {
    float[] array = new float[Math.toIntExact(buffer.length())];
    buffer.copyTo(array);
    return array;
  }

  @Test
  void aKernelRunsWhereTheMostBytesAre() {
    orchestrator.register("saxpy", SAXPY);
    try (UnifiedBuffer<float[]> x = on("cpu:0", 1, 2);
        UnifiedBuffer<float[]> y = on("cpu:0", 10, 20);
        UnifiedBuffer<float[]> far = on("simulated:0", 5, 6)) {
      orchestrator.execute("saxpy", Arguments.of("a", 2, "x", x, "y", y));
      assertThat(launches()).isZero();
      assertThat(contents(y)).containsExactly(12, 24);
      orchestrator.execute("saxpy", Arguments.of("a", 2, "x", far, "y", far));
      assertThat(launches()).isEqualTo(1);
      assertThat(contents(far)).containsExactly(15, 18);
    }
  }

  @Test
  void aBufferOfAnotherTidepoolIsCopiedToAnAcceleratorOfThisOne() {
    orchestrator.register("saxpy", SAXPY);
    SimulatedProvider others = new SimulatedProvider(SimulatedHardware.discrete());
    try (Tidepool other = Discovery.using(List.of(others), Tidepool::open);
        UnifiedBuffer<float[]> x = on("cpu:0", 1, 2);
        UnifiedBuffer<float[]> y = other.memory().copyOf(new float[] {10, 20})) {
      float[] z = {1, 2};
      orchestrator.execute("saxpy", Arguments.of("a", 2, "x", z, "y", y));
      assertThat(contents(y)).containsExactly(12, 24);
      assertThat(launches()).as("launches on the best accelerator").isEqualTo(1);
      orchestrator.execute("saxpy", Arguments.of("a", 2, "x", x, "y", y));
      assertThat(contents(y)).containsExactly(14, 28);
      assertThat(launches()).as("launches elsewhere than at x").isEqualTo(1);
      assertThat(others.device("simulated:0").ledger().calls(SpiCall.LAUNCH)).isZero();
    }
    assertThat(others.violations()).isEmpty();
  }

  @Test
  void theNamedAcceleratorIsUsedAndResultsComeBack() {
    orchestrator.register("saxpy", SAXPY);
    ExecutionOptions there = ExecutionOptions.defaults().on("simulated:0");
    try (UnifiedBuffer<float[]> x = on("cpu:0", 1, 2);
        UnifiedBuffer<float[]> y = on("cpu:0", 10, 20)) {
      orchestrator.execute("saxpy", Arguments.of("a", 2, "x", x, "y", y), there);
      assertThat(launches()).isEqualTo(1);
      assertThat(contents(y)).containsExactly(12, 24);
      orchestrator.executeAsync("saxpy", Arguments.of("a", 1, "x", x, "y", y), there).join();
      assertThat(launches()).isEqualTo(2);
      assertThat(contents(y)).containsExactly(13, 26);
    }
  }

  @Test
  void aPreferredAcceleratorIsTakenBeforeTheHomeOfTheBuffersAndBeforeTheBest() {
    SimulatedHardware card = SimulatedHardware.discrete();
    SimulatedProvider cards = new SimulatedProvider(card, card);
    ExecutionOptions options = ExecutionOptions.defaults();
    try (Tidepool two = Discovery.using(List.of(cards), Tidepool::open);
        UnifiedBuffer<float[]> x = two.memory().copyOf(new float[] {1, 2});
        UnifiedBuffer<float[]> y = two.memory().copyOf(new float[] {10, 20})) {
      assertThat(y.accelerator().id()).isEqualTo("simulated:0");
      two.orchestrator().register("saxpy", SAXPY);
      Arguments buffers = Arguments.of("a", 2, "x", x, "y", y);
      two.orchestrator().execute("saxpy", buffers, options.preferring("simulated:1"));
      assertThat(contents(y)).containsExactly(12, 24);
      assertThat(launches(cards)).containsExactly(0L, 1L);

      float[] sum = {10, 20};
      Arguments arrays = Arguments.of("a", 2, "x", new float[] {1, 2}, "y", sum);
      two.orchestrator().execute("saxpy", arrays, options.preferring("simulated:1"));
      assertThat(sum).containsExactly(12, 24);
      assertThat(launches(cards)).containsExactly(0L, 2L);
      two.orchestrator().execute("saxpy", arrays, options.preferring("cpu"));
      assertThat(sum).containsExactly(14, 28);
      assertThat(launches(cards)).containsExactly(0L, 2L);
      two.orchestrator().execute("saxpy", arrays, options.preferring("cuda"));
      assertThat(sum).containsExactly(16, 32);
      assertThat(launches(cards)).containsExactly(1L, 2L);
    }
    assertThat(cards.violations()).isEmpty();
  }

  @Test
  void aNameThatIsNotRegisteredIsRefused() {
    assertThatThrownBy(() -> orchestrator.execute("saxpi", Arguments.of("y", new float[1])))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("no kernel is called 'saxpi'; none is registered: call register first");
    orchestrator.register("saxpy", SAXPY);
    assertThatThrownBy(() -> orchestrator.execute("saxpi", Arguments.of("y", new float[1])))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("no kernel is called 'saxpi'; registered are [saxpy]");
  }

  @Test
  void arraysAreArgumentsToo() {
    orchestrator.register("saxpy", SAXPY);
    float[] y = {10, 20};
    orchestrator.execute("saxpy", Arguments.of("a", 2, "x", new float[] {1, 2}, "y", y));
    assertThat(y).containsExactly(12, 24);
    orchestrator
        .executeAsync("saxpy", Arguments.of("a", 2, "x", new float[] {1, 2}, "y", y))
        .join();
    assertThat(y).containsExactly(14, 28);
  }

  @Test
  void anAcceleratorRunsTheFirstSourceThatItCan() {
    orchestrator.register(
        "number",
        KernelSource.cuda("", "number", KernelParameter.out("y", ElementType.INT)),
        KernelSource.java(
            item ->
                item.array(0)
                    .setAtIndex(ValueLayout.JAVA_INT, item.globalId(0), (int) item.globalId(0)),
            KernelParameter.out("y", ElementType.INT)));
    int[] y = new int[4];
    orchestrator.execute(
        "number",
        Arguments.of("y", y),
        ExecutionOptions.defaults().on("cpu:0").over(LaunchRange.of(4)));
    assertThat(y).containsExactly(0, 1, 2, 3);
    orchestrator.register("never", KernelSource.cuda("", "never"));
    assertThatThrownBy(() -> orchestrator.execute("never", Arguments.of()))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageStartingWith("no accelerator runs kernel 'never'")
        .hasMessageContainingAll(
            "simulated:0 runs none of the sources:\n  simulated:0 runs elementwise and Java",
            "cpu:0 runs none of the sources:\n  cpu:0");
    ExecutionOptions named = ExecutionOptions.defaults().on("simulated:0");
    assertThatThrownBy(() -> orchestrator.execute("never", Arguments.of(), named))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining("'never'")
        .hasMessageContaining("simulated:0");
  }

  @Test
  void sourcesThatAnAcceleratorDoesNotRunAreNotTriedAtEachLaunch() {
    orchestrator.register("never", KernelSource.cuda("", "never"));
    for (int launch = 0; launch < 3; launch++) {
      assertThatThrownBy(() -> orchestrator.execute("never", Arguments.of()))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("simulated:0 runs elementwise and Java");
    }
    assertThat(simulated.device("simulated:0").ledger().calls(SpiCall.COMPILE)).isEqualTo(1);
  }

  @Test
  void aClosedManagerWhoseBuffersWereArgumentsIsNotKept() throws InterruptedException {
    orchestrator.register("saxpy", SAXPY);
    WeakReference<UnifiedMemoryManager> closed = new WeakReference<>(runOnAFurtherManager());
    while (closed.get() != null) {
      System.gc();
      Thread.sleep(20);
    }
    assertThat(simulated.device("simulated:0").livePrograms()).isZero();
  }

  private UnifiedMemoryManager runOnAFurtherManager() {
    MemoryOptions own = MemoryOptions.builder().maxPoolBytes(1 << 20).build();
    try (UnifiedMemoryManager further =
            UnifiedMemoryManager.create(tidepool.accelerator("simulated:0"), own);
        UnifiedBuffer<float[]> x = further.copyOf(new float[] {1, 2});
        UnifiedBuffer<float[]> y = further.copyOf(new float[] {10, 20})) {
      orchestrator.execute("saxpy", Arguments.of("a", 2, "x", x, "y", y));
      assertThat(contents(y)).containsExactly(12, 24);
      return further;
    }
  }

  @Test
  void wrongNamesAndSourcesAreOneClearError() {
    orchestrator.register("saxpy", SAXPY);
    assertThat(orchestrator.names()).containsExactly("saxpy");
    assertThatThrownBy(() -> orchestrator.register("saxpy", SAXPY))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'saxpy' already");
    assertThatThrownBy(() -> orchestrator.register("wrong", KernelSource.elementwise("y = ")))
        .isInstanceOf(KernelCompilationException.class);
    assertThatThrownBy(() -> orchestrator.execute("daxpy", Arguments.of()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("saxpy");
    Arguments arguments = Arguments.of("a", 1, "x", new float[1], "y", new float[1]);
    assertThatThrownBy(
            () -> orchestrator.execute("saxpy", arguments, ExecutionOptions.defaults().on("tpu:7")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("simulated:0")
        .hasMessageContaining("cpu:0");
  }
}
