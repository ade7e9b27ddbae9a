package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
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
 * Copies between the host and the first OpenCL device through the public API. Compares them with
 * blocking {@code clEnqueueWriteBuffer} and {@code clEnqueueReadBuffer} of as many bytes, with
 * native memory or with arrays that are copied through native memory.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class TransferBenchmark {
  /** The size of one transfer. */
  @Param({"64", "4096", "65536", "1048576", "16777216", "67108864"})
  public int bytes;

  /** How Tidepool treats the device's memory. */
  @Param({"shared", "discrete"})
  public String mode;

  private Tidepool tidepool;
  private float[] array;
  private UnifiedBuffer<float[]> device;
  private UnifiedBuffer<float[]> pinned;
  private BareOpenCl bare;
  private MemorySegment bareBuffer;
  private MemorySegment bareHost;

  /** Touches all memory on both sides. */
  @Setup
  public void open() {
    tidepool = Machines.open(mode);
    UnifiedMemoryManager memory = tidepool.memory(Machines.openCl(tidepool));
    int length = bytes / Float.BYTES;
    array = new float[length];
    device = memory.allocate(ElementType.FLOAT, length);
    pinned = memory.allocate(ElementType.FLOAT, length, MemoryLocation.PINNED);
    device.fill((byte) 1);
    pinned.fill((byte) 1);
    bare = new BareOpenCl();
    bareBuffer = bare.allocate(bytes);
    bareHost = Arena.global().allocate(bytes, 4096).fill((byte) 1);
    bare.write(bareBuffer, bareHost);
  }

  /** Closes both sides. */
  @TearDown
  public void close() {
    bare.free(bareBuffer);
    bare.close();
    device.close();
    pinned.close();
    tidepool.close();
  }

  /** Copies an array to the device. */
  @Benchmark
  @ComparedWith("bareWrite")
  public void arrayIn() {
    device.copyFrom(array);
  }

  /** Copies from the device to an array. */
  @Benchmark
  @ComparedWith("bareRead")
  public void arrayOut() {
    device.copyTo(array);
  }

  /** Copies a page-locked buffer to the device. */
  @Benchmark
  @ComparedWith("bareWrite")
  public void pinnedIn() {
    device.copyFrom(pinned);
  }

  /** Copies from the device to a page-locked buffer. */
  @Benchmark
  @ComparedWith("bareRead")
  public void pinnedOut() {
    pinned.copyFrom(device);
  }

  /** Copies native memory to the device by the bare driver. */
  @Benchmark
  public void bareWrite() {
    bare.write(bareBuffer, bareHost);
  }

  /** Copies from the device to native memory by the bare driver. */
  @Benchmark
  public void bareRead() {
    bare.read(bareBuffer, bareHost);
  }

  /** Copies an array to the device by the bare driver, which accepts only native memory. */
  @Benchmark
  public void bareArrayIn() {
    MemorySegment.copy(array, 0, bareHost, ValueLayout.JAVA_FLOAT, 0, array.length);
    bare.write(bareBuffer, bareHost);
  }

  /** Copies from the device to an array by the bare driver. */
  @Benchmark
  public void bareArrayOut() {
    bare.read(bareBuffer, bareHost);
    MemorySegment.copy(bareHost, ValueLayout.JAVA_FLOAT, 0, array, 0, array.length);
  }
}
