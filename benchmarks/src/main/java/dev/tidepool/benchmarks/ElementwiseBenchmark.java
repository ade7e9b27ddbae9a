package dev.tidepool.benchmarks;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
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
 * Runs kernels on {@code cpu:0} over arrays larger than any cache, and compares them with {@link
 * MemorySegment#copy} of as many bytes, read plus written, by as many threads between the same
 * buffers.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class ElementwiseBenchmark {
  /** The size of one array. */
  @Param({"64", "256"})
  public int mib;

  private final int threads = Runtime.getRuntime().availableProcessors();
  private Tidepool tidepool;
  private UnifiedBuffer<float[]> x;
  private UnifiedBuffer<float[]> y;
  private Kernel affine;
  private Kernel axpy;
  private ExecutorService copiers;

  /** Touches every page, so that no page is the system's shared page of zeros. */
  @Setup
  public void open() {
    tidepool = Tidepool.open();
    UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    long length = (long) mib << 18;
    x = memory.allocate(ElementType.FLOAT, length);
    y = memory.allocate(ElementType.FLOAT, length);
    for (UnifiedBuffer<float[]> buffer : List.of(x, y)) {
      MemorySegment floats = buffer.asSegment();
      for (long i = 0; i < length; i++) {
        floats.setAtIndex(JAVA_FLOAT, i, i & 1023);
      }
    }
    affine = memory.compile(KernelSource.elementwise("y = 2*x + 1"));
    axpy = memory.compile(KernelSource.elementwise("y = a*x + y"));
    copiers = Executors.newFixedThreadPool(threads);
  }

  /** Stops the threads, so that the fork can exit. */
  @TearDown
  public void close() {
    copiers.shutdown();
    x.close();
    y.close();
    tidepool.close();
  }

  /** Reads one array and writes one. */
  @Benchmark
  @ComparedWith("affineBytes")
  public void affine() {
    affine.execute(Arguments.of("x", x, "y", y));
  }

  /** Copies one array. */
  @Benchmark
  public void affineBytes() throws InterruptedException, ExecutionException {
    copy(x.byteSize());
  }

  /** Reads two arrays and writes one of them. A factor of 0 keeps the values finite. */
  @Benchmark
  @ComparedWith("axpyBytes")
  public void axpy() {
    axpy.execute(Arguments.of("a", 0f, "x", x, "y", y));
  }

  /** Copies one and a half arrays, which reads and writes the bytes of three. */
  @Benchmark
  public void axpyBytes() throws InterruptedException, ExecutionException {
    copy(x.byteSize());
    copy(x.byteSize() / 2);
  }

  private void copy(long bytes) throws InterruptedException, ExecutionException {
    MemorySegment from = x.asReadOnlySegment();
    MemorySegment to = y.asSegment();
    long part = bytes / threads;
    List<Future<?>> parts = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      long start = i * part;
      parts.add(copiers.submit(() -> MemorySegment.copy(from, start, to, start, part)));
    }
    for (Future<?> future : parts) {
      future.get();
    }
  }
}
