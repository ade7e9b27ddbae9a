package dev.tidepool.benchmarks;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.Snapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
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
 * Takes snapshots of 100,000 blocks with a history. Also measures the longest allocation while
 * another thread takes snapshots continuously, compared with an allocation alone.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 10)
@Measurement(iterations = 20)
@Fork(1)
public class SnapshotBenchmark {
  private static final int BLOCKS = 100_000;
  private static final int TAGS = 50;

  /** Whether snapshots are taken on another thread. */
  @Param({"false", "true"})
  public boolean beside;

  private final List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private volatile boolean done;
  private Thread snapshots;

  /** Fills the pools. */
  @Setup
  public void fill() {
    tidepool = Tidepool.open(MemoryOptions.builder().history(BLOCKS).build());
    memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    for (int i = 0; i < BLOCKS; i++) {
      Allocation tagged = Allocation.at(MemoryLocation.DEVICE).tag("tag " + i % TAGS);
      buffers.add(memory.allocate(ElementType.BYTE, 1 + i % 4000, tagged));
    }
    snapshots =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (beside && !done) {
                    memory.snapshot().toJson();
                  }
                });
  }

  /** Empties the pools. */
  @TearDown
  public void empty() throws InterruptedException {
    done = true;
    snapshots.join();
    buffers.forEach(UnifiedBuffer::close);
    tidepool.close();
  }

  /** Takes a snapshot as objects. */
  @Benchmark
  public Snapshot take() {
    return memory.snapshot();
  }

  /** Takes a snapshot, and converts it to text. */
  @Benchmark
  public String takeAndWrite() {
    return memory.snapshot().toJson();
  }

  /** Allocates from the pool, and returns the block. The longest time counts. */
  @Benchmark
  @BenchmarkMode(Mode.SampleTime)
  @OutputTimeUnit(TimeUnit.MICROSECONDS)
  @Warmup(iterations = 2, time = 1)
  @Measurement(iterations = 5, time = 1)
  public void allocate() {
    memory.allocate(ElementType.BYTE, 1000).close();
  }
}
