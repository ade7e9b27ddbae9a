package dev.tidepool.benchmarks;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.KernelSource;
import dev.tidepool.NativeAccess;
import dev.tidepool.NativeUse;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferStatistics;
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
 * Lends two buffers that kernels use to native code, and takes them back. Fails if any byte is
 * transferred.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class LendingBenchmark {
  private static final int LENGTH = 64 << 10;

  @Param({"cpu", "shared", "discrete"})
  private String where;

  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private UnifiedBuffer<float[]> x;
  private UnifiedBuffer<float[]> y;
  private TransferStatistics before;

  /** Runs a kernel on both buffers. */
  @Setup
  public void open() {
    boolean isCpu = where.equals("cpu");
    tidepool = Machines.open(isCpu ? "shared" : where);
    Accelerator accelerator = isCpu ? tidepool.accelerator("cpu:0") : Machines.openCl(tidepool);
    memory = tidepool.memory(accelerator);
    x = memory.copyOf(new float[LENGTH]);
    y = memory.copyOf(new float[LENGTH]);
    memory.compile(KernelSource.elementwise("y = x")).execute(Arguments.of("x", x, "y", y));
    before = memory.transfers().statistics();
  }

  /** Checks that nothing was transferred. */
  @TearDown
  public void close() {
    TransferStatistics after = memory.transfers().statistics();
    tidepool.close();
    if (after.hostToDeviceTransfers() != before.hostToDeviceTransfers()
        || after.deviceToHostTransfers() != before.deviceToHostTransfers()) {
      throw new IllegalStateException("bytes were moved: " + after);
    }
  }

  /** Lends one buffer for reading and one for writing, and closes the access. */
  @Benchmark
  public long lend() {
    try (NativeAccess access = memory.lend(NativeUse.read(x), NativeUse.readWrite(y))) {
      return access.handle(y).value() + access.queue();
    }
  }
}
