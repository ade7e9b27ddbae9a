package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
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
 * Copies 1,000 ranges of 4 KiB, with gaps between them, to a discrete device: as dirty ranges of
 * one buffer that the host wrote, as a list of transfers, and by one blocking call each.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1, timeUnit = TimeUnit.SECONDS)
@Measurement(iterations = 5, time = 1, timeUnit = TimeUnit.SECONDS)
@Fork(1)
public class DirtyRangesBenchmark {
  private static final int RANGES = 1000;
  private static final int BYTES = 4096;
  private static final long STEP = 4L * BYTES;

  private Tidepool tidepool;
  private UnifiedBuffer<byte[]> onBothSides;
  private UnifiedBuffer<byte[]> onDevice;
  private UnifiedMemoryManager memory;
  private byte[] array;
  private List<Transfer<?>> list;
  private BareOpenCl bare;
  private MemorySegment bareBuffer;
  private MemorySegment bareHost;

  /** Touches all memory on both sides. */
  @Setup
  public void open() {
    tidepool = Machines.open("discrete");
    memory = tidepool.memory(Machines.openCl(tidepool));
    array = new byte[BYTES];
    onBothSides = memory.allocate(ElementType.BYTE, RANGES * STEP);
    onBothSides.fill((byte) 1);
    onBothSides.synchronize();
    onDevice = memory.allocate(ElementType.BYTE, RANGES * STEP);
    onDevice.fill((byte) 1);
    list = new ArrayList<>();
    for (int i = 0; i < RANGES; i++) {
      list.add(Transfer.of(array, onDevice.slice(i * STEP, BYTES)));
    }
    bare = new BareOpenCl();
    bareBuffer = bare.allocate(RANGES * STEP);
    bare.clear(bareBuffer, RANGES * STEP);
    bareHost = Arena.global().allocate(BYTES, 4096).fill((byte) 1);
  }

  /** Closes both sides. */
  @TearDown
  public void close() {
    bare.free(bareBuffer);
    bare.close();
    onDevice.close();
    onBothSides.close();
    tidepool.close();
  }

  /** Writes on the host, and synchronizes the dirty ranges. */
  @Benchmark
  @ComparedWith({"list", "bareWrites"})
  public void dirtyRanges() {
    for (int i = 0; i < RANGES; i++) {
      onBothSides.copyFrom(array, 0, i * STEP, BYTES);
    }
    onBothSides.synchronize();
  }

  /** Transfers the ranges as a list. */
  @Benchmark
  public Object list() {
    return memory.transfers().transfer(list, TransferOptions.defaults()).orThrow();
  }

  /** Calls the driver once for each range; the bytes are already in native memory. */
  @Benchmark
  public void bareWrites() {
    for (int i = 0; i < RANGES; i++) {
      bare.write(bareBuffer, i * STEP, bareHost);
    }
  }
}
