package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticsLevel;
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
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The cost of each level of diagnostics for buffers from the pool. {@code EVERY_SITE} records the
 * stack of each allocation, without sampling. Each level runs in its own virtual machine, because
 * classes that are not loaded cost nothing.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class DiagnosticsBenchmark {
  /** The level. */
  @Param({"COUNTERS", "SITES", "EVERY_SITE"})
  public String level;

  /** The size of a buffer: smaller or larger than the sampling interval. */
  @Param({"4096", "4194304"})
  public long bytes;

  private UnifiedMemoryManager memory;

  /** Opens a manager. */
  @Setup
  public void open() {
    boolean every = level.equals("EVERY_SITE");
    MemoryOptions.Builder options = MemoryOptions.builder();
    if (every) {
      options.siteSampling(1);
    }
    memory =
        UnifiedMemoryManager.create(
            options
                .diagnostics(every ? DiagnosticsLevel.SITES : DiagnosticsLevel.valueOf(level))
                .build());
  }

  /** Closes the manager. */
  @TearDown
  public void close() {
    memory.close();
  }

  /** Allocates from the pool and closes, on one thread. */
  @Benchmark
  public void allocateAndClose() {
    memory.allocate(ElementType.BYTE, bytes).close();
  }

  /** Allocates from the pool and closes, on two threads. */
  @Benchmark
  @Threads(2)
  public void onTwoThreads() {
    memory.allocate(ElementType.BYTE, bytes).close();
  }
}
