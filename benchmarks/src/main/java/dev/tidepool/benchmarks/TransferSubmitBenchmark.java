package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The caller's cost of an asynchronous transfer: a thousand requests in succession, to as many
 * buffers or to one. The transfers are awaited between invocations.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1, timeUnit = TimeUnit.SECONDS)
@Measurement(iterations = 5, time = 1, timeUnit = TimeUnit.SECONDS)
@Fork(1)
public class TransferSubmitBenchmark {
  private static final int TRANSFERS = 1000;

  /** The size of one transfer. */
  @Param({"4", "256"})
  public int kib;

  private Tidepool tidepool;
  private byte[] array;
  private final List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
  private final List<CompletableFuture<Void>> futures = new ArrayList<>(TRANSFERS);

  /** Touches all buffers. */
  @Setup
  public void open() {
    tidepool = Machines.open("discrete");
    UnifiedMemoryManager memory = tidepool.memory(Machines.openCl(tidepool));
    array = new byte[kib << 10];
    for (int i = 0; i < TRANSFERS; i++) {
      UnifiedBuffer<byte[]> buffer = memory.allocate(ElementType.BYTE, array.length);
      buffer.copyFrom(array);
      buffers.add(buffer);
    }
  }

  /** Waits for the requested transfers. */
  @TearDown(Level.Invocation)
  public void settle() {
    futures.forEach(CompletableFuture::join);
    futures.clear();
  }

  /** Closes everything. */
  @TearDown
  public void close() {
    buffers.forEach(UnifiedBuffer::close);
    tidepool.close();
  }

  /** Requests transfers to a thousand buffers. */
  @Benchmark
  @OperationsPerInvocation(TRANSFERS)
  public void toManyBuffers() {
    for (UnifiedBuffer<byte[]> buffer : buffers) {
      futures.add(buffer.copyFromAsync(array));
    }
  }

  /** Requests transfers to one buffer, each queued behind the one before. */
  @Benchmark
  @OperationsPerInvocation(TRANSFERS)
  public void toOneBuffer() {
    UnifiedBuffer<byte[]> buffer = buffers.getFirst();
    for (int i = 0; i < TRANSFERS; i++) {
      futures.add(buffer.copyFromAsync(array));
    }
  }
}
