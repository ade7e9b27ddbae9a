package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeKind;
import dev.tidepool.NativeUse;
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
 * CLBlast multiplies matrices of 256 x 256: in lent slices of a buffer, and in memory objects of a
 * program that calls OpenCL itself. Compare the minima, because the times of the driver's kernels
 * vary by a third.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class SgemmBenchmark {
  private static final int N = 256;

  @Param({"shared", "discrete"})
  private String where;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment queue = arena.allocate(ValueLayout.JAVA_LONG);
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private UnifiedBuffer<float[]> a;
  private UnifiedBuffer<float[]> b;
  private UnifiedBuffer<float[]> c;
  private BareOpenCl bare;
  private long bareA;
  private long bareB;
  private long bareC;

  /** Creates equal matrices on both sides. */
  @Setup
  public void open() {
    tidepool = Machines.open(where);
    memory = tidepool.memory(Machines.openCl(tidepool));
    int elements = N * N;
    // Each slice begins at a multiple of 128 bytes.
    UnifiedBuffer<float[]> all = memory.allocate(ElementType.FLOAT, 3L * elements + 96);
    all.fill((byte) 0);
    a = all.slice(32, elements);
    b = all.slice(64L + elements, elements);
    c = all.slice(96L + 2L * elements, elements);
    bare = new BareOpenCl();
    MemorySegment zeros = arena.allocate(4L * elements);
    bareA = filled(zeros);
    bareB = filled(zeros);
    bareC = filled(zeros);
  }

  private long filled(MemorySegment zeros) {
    MemorySegment buffer = bare.allocate(zeros.byteSize());
    bare.write(buffer, zeros);
    return buffer.address();
  }

  /** Closes both sides. */
  @TearDown
  public void close() {
    tidepool.close();
    bare.free(MemorySegment.ofAddress(bareA));
    bare.free(MemorySegment.ofAddress(bareB));
    bare.free(MemorySegment.ofAddress(bareC));
    bare.close();
    arena.close();
  }

  /** Lends slices for each product, and waits for the product. */
  @Benchmark
  @ComparedWith("bare")
  public void lent() {
    NativeKind kind = NativeKind.OPENCL_BUFFER;
    try (NativeAccess access =
        memory.lend(
            NativeUse.read(a).as(kind), NativeUse.read(b).as(kind), NativeUse.write(c).as(kind))) {
      queue.set(ValueLayout.JAVA_LONG, 0, access.queue());
      Clblast.sgemm(
          queue, N, access.handle(a).value(), access.handle(b).value(), access.handle(c).value());
    }
    memory.synchronize();
  }

  /** Uses memory objects and a queue without the library, and waits for the product. */
  @Benchmark
  public void bare() {
    queue.set(ValueLayout.JAVA_LONG, 0, bare.queue());
    Clblast.sgemm(queue, N, bareA, bareB, bareC);
    bare.finish();
  }
}
