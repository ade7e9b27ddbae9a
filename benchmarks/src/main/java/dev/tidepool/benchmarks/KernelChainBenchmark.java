package dev.tidepool.benchmarks;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.invoke.MethodHandles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Runs 2,000 small kernels, each on the result of the one before: an expression by {@code
 * executeAsync} and by {@code execute}, a Java method by {@code executeAsync}, and as many launches
 * on one queue of the bare driver. Reports the time of one kernel.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1, timeUnit = TimeUnit.SECONDS)
@Measurement(iterations = 5, time = 1, timeUnit = TimeUnit.SECONDS)
@Fork(1)
public class KernelChainBenchmark {
  private static final int KERNELS = 2000;
  private static final int LENGTH = 16;

  /**
   * PoCL, whose launches block; or a simulated device, on which a launch occupies the submitting
   * thread or the device for 4 µs; or a CUDA card, {@code cuda}, if present.
   */
  @Param({"pocl", "launch-4us", "device-4us"})
  public String device;

  private Tidepool tidepool;
  private UnifiedBuffer<int[]> buffer;
  private Kernel kernel;
  private Kernel method;
  private Arguments arguments;
  private Device bareDevice;
  private Queue queue;
  private Program program;
  private Block block;
  private Launch launch;

  private AcceleratorProvider provider() {
    SimulatedHardware hardware = SimulatedHardware.discrete().withoutTraces();
    Duration time = Duration.ofNanos(4000);
    return switch (device) {
      case "pocl" -> installed("OpenClProvider");
      case "cuda" -> installed("CudaProvider");
      case "launch-4us" -> new SimulatedProvider(hardware.withLaunchCost(time));
      case "device-4us" -> new SimulatedProvider(hardware.withLatency(time));
      default -> throw new IllegalArgumentException("device is " + device);
    };
  }

  static void increment(int i, int[] y) {
    y[i] = y[i] + 1;
  }

  private static AcceleratorProvider installed(String name) {
    return ServiceLoader.load(AcceleratorProvider.class).stream()
        .map(ServiceLoader.Provider::get)
        .filter(provider -> provider.getClass().getSimpleName().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /** Compiles the kernel on both sides, and touches the memory. */
  @Setup
  public void open() {
    KernelSource source = KernelSource.elementwise("y = y + 1");
    tidepool =
        Discovery.using(List.of(provider()), () -> Tidepool.open(MemoryOptions.builder().build()));
    var memory =
        tidepool.memory(
            tidepool.accelerators().stream()
                .filter(each -> !each.id().equals("cpu:0"))
                .findFirst()
                .orElseThrow());
    kernel = memory.compile(source);
    method = memory.compile(KernelSource.method(MethodHandles.lookup(), "increment"));
    buffer = memory.allocate(ElementType.INT, LENGTH);
    buffer.copyFrom(new int[LENGTH]);
    arguments = Arguments.of("y", buffer);
    bareDevice = provider().discover().devices().getFirst();
    queue = bareDevice.createQueue();
    program = bareDevice.compile(source, List.of(KernelParameter.inout("y", ElementType.INT)));
    block = bareDevice.allocate(4096, 64, BlockKind.DEVICE);
    launch =
        new Launch(
            program,
            List.of(new KernelArgument.Array(block, 0, LENGTH * Integer.BYTES)),
            LaunchRange.of(LENGTH));
    wait(queue.fill(block, 0, 4096, (byte) 0));
  }

  private static void wait(Event event) {
    try (event) {
      event.await();
    }
  }

  /** Closes both sides. */
  @TearDown
  public void close() {
    tidepool.close();
    block.free();
    program.close();
    queue.close();
    bareDevice.close();
  }

  /** Launches asynchronously. */
  @Benchmark
  @ComparedWith("bareLaunches")
  @OperationsPerInvocation(KERNELS)
  public void executeAsync() {
    CompletableFuture<Void> last = CompletableFuture.completedFuture(null);
    for (int i = 0; i < KERNELS; i++) {
      last = kernel.executeAsync(arguments);
    }
    last.join();
  }

  /** Launches a Java method with index checks, asynchronously. */
  @Benchmark
  @ComparedWith("bareLaunches")
  @OperationsPerInvocation(KERNELS)
  public void executeMethodAsync() {
    CompletableFuture<Void> last = CompletableFuture.completedFuture(null);
    for (int i = 0; i < KERNELS; i++) {
      last = method.executeAsync(arguments, LaunchRange.of(LENGTH));
    }
    last.join();
  }

  /** Executes one kernel after another. */
  @Benchmark
  @ComparedWith("bareLaunches")
  @OperationsPerInvocation(KERNELS)
  public void execute() {
    for (int i = 0; i < KERNELS; i++) {
      kernel.execute(arguments);
    }
  }

  /** Calls the bare driver, and waits for all launches at the end. */
  @Benchmark
  @OperationsPerInvocation(KERNELS)
  public void bareLaunches() {
    List<Event> events = new ArrayList<>(KERNELS);
    for (int i = 0; i < KERNELS; i++) {
      events.add(queue.launch(launch));
    }
    events.forEach(KernelChainBenchmark::wait);
  }
}
