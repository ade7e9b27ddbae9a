package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackExport;
import dev.tidepool.interop.DLPackTensor;
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

/** Exports a CPU buffer as a DLPack tensor, and opens a tensor as a buffer. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class InteropBenchmark {
  @Param({"1000", "10000000"})
  private int length;

  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private UnifiedBuffer<float[]> buffer;

  /** Allocates and writes one buffer. */
  @Setup
  public void open() {
    tidepool = Tidepool.open();
    memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    buffer = memory.allocate(ElementType.FLOAT, length);
    buffer.fill((byte) 1);
  }

  /** Closes the session. */
  @TearDown
  public void close() {
    tidepool.close();
  }

  /** Exports the buffer, and closes the tensor like a consumer's call of the deleter. */
  @Benchmark
  public void exports() {
    try (DLPackExport tensor = DLPack.export(buffer, length)) {
      if (tensor.isReleased()) {
        throw new IllegalStateException("the export is released, though no consumer took it");
      }
    }
  }

  /** Exports the buffer, opens the tensor as a buffer, and closes it, which calls the deleter. */
  @Benchmark
  public long exportsAndOpens() {
    try (DLPackTensor tensor = DLPack.open(memory, DLPack.export(buffer, length).handOver())) {
      return tensor.buffer(ElementType.FLOAT).length();
    }
  }
}
