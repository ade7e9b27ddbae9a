package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.MapMode;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferStatistics;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The host accesses 16 MiB of an OpenCL device with shared memory. Fails if any byte is
 * transferred.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class HostAccessBenchmark {
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private UnifiedBuffer<float[]> buffer;

  /** Makes the host's copy valid, if there is one. */
  @Setup
  public void open() {
    tidepool = Tidepool.open();
    memory = tidepool.memory(Machines.openCl(tidepool));
    buffer = memory.allocate(ElementType.FLOAT, 4 << 20);
    buffer.fill((byte) 1);
    buffer.asSegment().fill((byte) 2);
  }

  /** Checks that nothing was transferred. */
  @TearDown
  public void close() {
    TransferStatistics moved = memory.transfers().statistics();
    buffer.close();
    tidepool.close();
    if (moved.hostToDeviceTransfers() + moved.deviceToHostTransfers() != 0) {
      throw new IllegalStateException("bytes were moved: " + moved);
    }
  }

  /** Maps the buffer for reading and writing, and unmaps it. */
  @Benchmark
  public MemorySegment map() {
    try (HostMapping mapping = buffer.map(MapMode.READ_WRITE)) {
      return mapping.segment();
    }
  }

  /** Returns the host's copy for writing. */
  @Benchmark
  public MemorySegment asSegment() {
    return buffer.asSegment();
  }

  /** Returns the host's copy for reading. */
  @Benchmark
  public MemorySegment asReadOnlySegment() {
    return buffer.asReadOnlySegment();
  }
}
