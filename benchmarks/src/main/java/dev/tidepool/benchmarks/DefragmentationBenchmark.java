package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.Defragmentation;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Allocates 64 MiB of small buffers and closes three of four. {@code defragment} moves the rest
 * together; {@code copies} copies as many bytes between such buffers, one after the other. The
 * device is the processor, or a simulated one with a queue and its own memory.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 20)
@Measurement(iterations = 20)
@Fork(1)
public class DefragmentationBenchmark {
  private static final int ALL = 64 << 20;
  private static final int KEPT = 4;

  /** The size of a buffer in bytes. */
  @Param({"4096", "49152"})
  public int bytes;

  /** The device. */
  @Param({"cpu:0", "simulated:0"})
  public String device;

  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private List<UnifiedBuffer<byte[]>> scattered;
  private List<UnifiedBuffer<byte[]>> targets;

  /** Allocates buffers, with holes between them. */
  @Setup(Level.Invocation)
  public void scatter() {
    SimulatedProvider simulated =
        new SimulatedProvider(SimulatedHardware.discrete().withMemory(8L * ALL));
    MemoryOptions options = MemoryOptions.builder().defragmentInterval(Duration.ZERO).build();
    tidepool = Discovery.using(List.of(simulated), () -> Tidepool.open(options));
    memory = tidepool.memory(tidepool.accelerator(device));
    List<UnifiedBuffer<byte[]>> all = new ArrayList<>();
    for (int i = 0; i < ALL / bytes; i++) {
      UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, bytes);
      buffer.fill((byte) i);
      all.add(buffer);
    }
    scattered = new ArrayList<>();
    for (int i = 0; i < all.size(); i++) {
      if (i % KEPT == 0) {
        scattered.add(all.get(i));
      } else {
        all.get(i).close();
      }
    }
    targets = new ArrayList<>();
  }

  /** Frees everything. */
  @TearDown(Level.Invocation)
  public void close() {
    tidepool.close();
  }

  /** Moves the buffers together. */
  @Benchmark
  @ComparedWith("copies")
  public Defragmentation defragment() {
    Defragmentation done = memory.defragment();
    if (done.movedBytes() == 0) {
      throw new IllegalStateException("nothing was moved: " + done);
    }
    return done;
  }

  /** Copies as many buffers as {@link #defragment} moves: three quarters of those left. */
  @Benchmark
  public List<UnifiedBuffer<byte[]>> copies() {
    int moved = scattered.size() * (KEPT - 1) / KEPT;
    for (int i = 0; i < moved; i++) {
      UnifiedBuffer<byte[]> target = memory.allocate(ElementType.BYTE, bytes);
      target.copyFrom(scattered.get(i));
      targets.add(target);
    }
    return targets;
  }
}
