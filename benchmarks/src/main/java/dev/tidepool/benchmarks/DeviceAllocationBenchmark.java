package dev.tidepool.benchmarks;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.MemorySegment;
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
 * Allocates and closes a buffer of an OpenCL device, from the pool or from the driver. The driver's
 * memory is touched once, because drivers return addresses and map the pages on first use.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class DeviceAllocationBenchmark {
  /** The size of a buffer. */
  @Param({"1", "10", "100"})
  public int mib;

  /** How Tidepool treats the device's memory. */
  @Param({"shared", "discrete"})
  public String mode;

  private long bytes;
  private Allocation unpooled;
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private BareOpenCl bare;

  /** Opens both sides. */
  @Setup
  public void open() {
    bytes = (long) mib << 20;
    unpooled = Allocation.at(MemoryLocation.DEVICE).unpooled();
    tidepool = Machines.open(mode);
    memory = tidepool.memory(Machines.openCl(tidepool));
    bare = new BareOpenCl();
  }

  /** Closes both sides. */
  @TearDown
  public void close() {
    bare.close();
    tidepool.close();
  }

  /** Allocates from the pool, and returns the block. */
  @Benchmark
  @ComparedWith({"driverTouched", "unpooledTouched"})
  public void pooled() {
    memory.allocate(ElementType.BYTE, bytes).close();
  }

  /** Allocates from the pool, clears the buffer, and returns the block. */
  @Benchmark
  @ComparedWith({"driverTouched", "unpooledTouched"})
  public void pooledTouched() {
    try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, bytes)) {
      buffer.fill((byte) 0);
    }
  }

  /** Allocates from the driver through Tidepool, clears the buffer, and frees it. */
  @Benchmark
  public void unpooledTouched() {
    try (UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, bytes, unpooled)) {
      buffer.fill((byte) 0);
    }
  }

  /** Allocates from the bare driver, clears the buffer, and frees it. */
  @Benchmark
  public void driverTouched() {
    MemorySegment buffer = bare.allocate(bytes);
    bare.clear(buffer, bytes);
    bare.free(buffer);
  }
}
