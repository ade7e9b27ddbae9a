package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.AcceleratorException;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.stream.ElementSource;
import dev.tidepool.stream.Pipeline;
import dev.tidepool.stream.StreamOptions;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.DriverLedger;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Pipelines over devices with memory of their own, some of which break. */
@ExtendWith(QuietLog.class)
class PipelineOverDevicesTest {
  private static final int LENGTH = 500_009;
  private static final StreamOptions SMALL = StreamOptions.defaults().withChunkBytes(64 << 10);

  /** The numbers from 0 on; a hook is run at every read. */
  private record Counting(Runnable hook) implements ElementSource {
    @Override
    public ElementType<?> elementType() {
      return ElementType.DOUBLE;
    }

    @Override
    public long length() {
      return LENGTH;
    }

    @Override
    public void read(long elementOffset, MemorySegment destination) {
      hook.run();
      int count = (int) (destination.byteSize() / Double.BYTES);
      double[] values = new double[count];
      for (int i = 0; i < count; i++) {
        values[i] = elementOffset + i;
      }
      ElementType.DOUBLE.write(values, 0, destination, 0, count);
    }
  }

  private static Pipeline.Outcome run(Runnable hook, double[] y, UnifiedMemoryManager... on) {
    return Pipeline.from("x", new Counting(hook))
        .through("t = x * 0.1")
        .through("y = t + 1; s = sum(t); most = max(t)")
        .to(
            "y",
            ElementType.DOUBLE,
            (offset, elements) -> System.arraycopy(elements, 0, y, (int) offset, elements.length))
        .on(on)
        .run(SMALL);
  }

  private static void assertComputed(double[] y) {
    for (int i = 0; i < LENGTH; i++) {
      assertThat(y[i]).isEqualTo(i * 0.1 + 1);
    }
  }

  @Test
  void whoComputesMakesNoDifference() {
    SimulatedProvider simulated =
        new SimulatedProvider(SimulatedHardware.discrete(), SimulatedHardware.discrete());
    try (Tidepool tidepool = Discovery.using(List.of(simulated), Tidepool::open)) {
      UnifiedMemoryManager first = tidepool.memory(tidepool.accelerator("simulated:0"));
      UnifiedMemoryManager second = tidepool.memory(tidepool.accelerator("simulated:1"));
      UnifiedMemoryManager cpu = tidepool.memory(tidepool.accelerator("cpu:0"));
      double[] alone = new double[LENGTH];
      double[] together = new double[LENGTH];
      Pipeline.Outcome one = run(() -> {}, alone, cpu);
      Pipeline.Outcome three = run(() -> {}, together, first, cpu, second);

      assertComputed(alone);
      assertComputed(together);
      assertThat(three.values()).isEqualTo(one.values());
      assertThat(three.dropped()).isEmpty();
      assertThat(first.buffers()).isEmpty();
      assertThat(second.buffers()).isEmpty();
      assertThat(cpu.buffers()).isEmpty();
    }
    assertThat(simulated.violations()).isEmpty();
  }

  /** Lets every worker read once, and again only when something happened. */
  private static Runnable onceUntil(CountDownLatch happened) {
    Set<Thread> seen = ConcurrentHashMap.newKeySet();
    return () -> {
      try {
        if (!seen.add(Thread.currentThread()) && !happened.await(60, TimeUnit.SECONDS)) {
          throw new AssertionError("it never happened");
        }
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    };
  }

  @Test
  void aDeviceThatIsLostLeavesItsChunksToTheProcessor() throws InterruptedException {
    FaultInjector faults = new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));
    try (Tidepool tidepool = Discovery.using(List.of(faults), Tidepool::open)) {
      UnifiedMemoryManager device = tidepool.memory(tidepool.accelerator("simulated:0"));
      UnifiedMemoryManager cpu = tidepool.memory(tidepool.accelerator("cpu:0"));
      faults.fail(SpiCall.LAUNCH, 1, Failure.DEVICE_LOST);
      CountDownLatch lost = new CountDownLatch(1);
      Thread watch =
          Thread.ofPlatform()
              .start(
                  () -> {
                    while (faults.fired().isEmpty()) {
                      LockSupport.parkNanos(1_000_000);
                    }
                    lost.countDown();
                  });
      double[] y = new double[LENGTH];
      Pipeline.Outcome outcome = run(onceUntil(lost), y, device, cpu);
      watch.join();

      assertComputed(y);
      assertThat(outcome.dropped()).containsOnlyKeys("simulated:0");
      assertThat(outcome.values().get("most")).isEqualTo((LENGTH - 1) * 0.1);
      assertThat(cpu.buffers()).isEmpty();
    }
  }

  @Test
  void aDeviceThatIsLostWhileABufferIsSentToItLeavesItsChunksToTheProcessor() {
    FaultInjector faults = new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));
    try (Tidepool tidepool = Discovery.using(List.of(faults), Tidepool::open)) {
      UnifiedMemoryManager device = tidepool.memory(tidepool.accelerator("simulated:0"));
      UnifiedMemoryManager cpu = tidepool.memory(tidepool.accelerator("cpu:0"));
      faults.fail(SpiCall.WRITE, 1, Failure.DEVICE_LOST);
      double[] y = new double[LENGTH];
      Pipeline.Outcome outcome;
      try (UnifiedBuffer<double[]> x = cpu.copyOf(numbers())) {
        outcome =
            Pipeline.from("x", x)
                .through("y = x * 0.1 + 1")
                .to(
                    "y",
                    ElementType.DOUBLE,
                    (offset, elements) -> {
                      // No chunk of the device comes here before the fault, which takes the first.
                      while (faults.fired().isEmpty()) {
                        LockSupport.parkNanos(1_000_000);
                      }
                      System.arraycopy(elements, 0, y, (int) offset, elements.length);
                    })
                .on(device, cpu)
                .run(SMALL);
      }

      assertComputed(y);
      assertThat(outcome.dropped()).containsOnlyKeys("simulated:0");
      assertThat(cpu.buffers()).isEmpty();
    }
  }

  @Test
  void whatIsOnTheDeviceAlreadyIsNeitherFetchedNorSent() {
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    try (Tidepool tidepool = Discovery.using(List.of(simulated), Tidepool::open)) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
      DriverLedger ledger = simulated.device("simulated:0").ledger();
      double[] y = new double[LENGTH];
      try (UnifiedBuffer<double[]> x =
              memory.allocate(ElementType.DOUBLE, LENGTH, MemoryLocation.DEVICE);
          UnifiedBuffer<double[]> results =
              memory.allocate(ElementType.DOUBLE, LENGTH, MemoryLocation.PINNED)) {
        x.copyFrom(numbers());
        long sent = ledger.hostToDeviceBytes();
        long fetched = ledger.deviceToHostBytes();
        Pipeline.from("x", x).through("y = x * 0.1 + 1").to("y", results).on(memory).run(SMALL);

        assertThat(ledger.hostToDeviceBytes() - sent).isZero();
        assertThat(ledger.deviceToHostBytes() - fetched).isEqualTo(8L * LENGTH);
        results.copyTo(y);
      }
      assertComputed(y);
    }
    assertThat(simulated.violations()).isEmpty();
  }

  private static double[] numbers() {
    double[] numbers = new double[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      numbers[i] = i;
    }
    return numbers;
  }

  @Test
  void aLostDeviceAloneIsAClearError() {
    FaultInjector faults = new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));
    try (Tidepool tidepool = Discovery.using(List.of(faults), Tidepool::open)) {
      UnifiedMemoryManager device = tidepool.memory(tidepool.accelerator("simulated:0"));
      faults.fail(SpiCall.LAUNCH, 3, Failure.DEVICE_LOST);

      assertThatThrownBy(() -> run(() -> {}, new double[LENGTH], device))
          .isInstanceOf(AcceleratorException.class);
    }
  }
}
