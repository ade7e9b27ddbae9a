package dev.tidepool.benchmarks;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.tidepool.ElementType;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.metal.SimulatedMetal;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
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
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Transfers a large array, and 1,000 pieces of 4 KiB, to private memory of the simulated Metal, and
 * compares them with bare messages. A command buffer takes 20 microseconds, and blits move 8 GB per
 * second.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1, timeUnit = TimeUnit.SECONDS)
@Measurement(iterations = 5, time = 1, timeUnit = TimeUnit.SECONDS)
@Fork(1)
public class MetalTransfersBenchmark {
  private static final int PIECES = 1000;
  private static final int PIECE = 4096;
  private static final long STEP = 2L * PIECE;

  /** The size of the large array. */
  @Param({"16777216", "67108864"})
  public int bytes;

  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private UnifiedBuffer<byte[]> device;
  private BareMetal bare;
  private byte[] large;
  private final byte[] piece = new byte[PIECE];
  private final List<Transfer<?>> pieces = new ArrayList<>();

  /** Opens the simulated Metal. */
  @Setup
  public void open() {
    SimulatedMetal simulated = SimulatedMetal.find().orElseThrow();
    simulated.reset(1);
    simulated.setAll("latency_ns", 20_000);
    simulated.setAll("bandwidth", 8_000_000_000L);
    System.setProperty("tidepool.metal.library", simulated.library().toString());
    System.setProperty("tidepool.metal.storage", "private");
    tidepool = Tidepool.open();
    memory = tidepool.memory(tidepool.accelerator("metal:0"));
    large = new byte[bytes];
    device = memory.allocate(ElementType.BYTE, large.length);
    bare = new BareMetal(simulated.library(), large.length);
    for (int i = 0; i < PIECES; i++) {
      pieces.add(Transfer.of(piece, device.slice(i * STEP, PIECE)));
    }
  }

  /** Closes everything. */
  @TearDown
  public void close() {
    bare.close();
    device.close();
    tidepool.close();
  }

  /** Transfers a large array to the device. */
  @Benchmark
  @ComparedWith("largeArrayBare")
  public void largeArray() {
    device.copyFrom(large);
  }

  /** Like {@link #largeArray}, but with bare messages: one copy to shared memory and one blit. */
  @Benchmark
  public void largeArrayBare() {
    MemorySegment.copy(large, 0, bare.contents(), JAVA_BYTE, 0, large.length);
    bare.upload(0, large.length);
  }

  /** Transfers a large array from the device. */
  @Benchmark
  @ComparedWith("largeArrayBackBare")
  public void largeArrayBack() {
    device.copyTo(large);
  }

  /** Like {@link #largeArrayBack}, but with bare messages. */
  @Benchmark
  public void largeArrayBackBare() {
    bare.download(0, large.length);
    MemorySegment.copy(bare.contents(), JAVA_BYTE, 0, large, 0, large.length);
  }

  /** Transfers 1,000 pieces as one list. */
  @Benchmark
  @ComparedWith("manyPiecesBare")
  public Object manyPieces() {
    return memory.transfers().transfer(pieces, TransferOptions.defaults()).orThrow();
  }

  /** Transfers 1,000 pieces with one command buffer for each. */
  @Benchmark
  public void manyPiecesBare() {
    for (int i = 0; i < PIECES; i++) {
      MemorySegment.copy(piece, 0, bare.contents(), JAVA_BYTE, i * STEP, PIECE);
      bare.upload(i * STEP, PIECE);
    }
  }
}
