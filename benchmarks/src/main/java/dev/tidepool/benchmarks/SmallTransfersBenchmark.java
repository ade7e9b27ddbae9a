package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
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
 * Many transfers to scattered places of one device buffer: as a list, as asynchronous calls, as
 * single calls, and by one blocking driver call each. Also measures the opposite direction.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1, timeUnit = TimeUnit.SECONDS)
@Measurement(iterations = 5, time = 1, timeUnit = TimeUnit.SECONDS)
@Fork(1)
public class SmallTransfersBenchmark {
  private static final int MOST_TRANSFERS = 1000;
  private static final long MOST_BYTES = 256L << 20;
  private static final long BUFFER = 512L << 20;

  /** The size of one transfer. Large transfers are fewer, so that a round stays short. */
  @Param({"64", "4096", "65536", "1048576", "16777216", "67108864"})
  public int bytes;

  private int transfers;
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private UnifiedBuffer<byte[]> device;
  private byte[] array;
  private long[] places;
  private List<Transfer<?>> list;
  private List<Transfer<?>> back;
  private BareOpenCl bare;
  private MemorySegment bareBuffer;
  private MemorySegment bareHost;

  /** Touches all memory on both sides. */
  @Setup
  public void open() {
    tidepool = Machines.open("discrete");
    memory = tidepool.memory(Machines.openCl(tidepool));
    device = memory.allocate(ElementType.BYTE, BUFFER);
    device.fill((byte) 1);
    array = new byte[bytes];
    SplittableRandom random = new SplittableRandom(1);
    transfers = (int) Math.min(MOST_TRANSFERS, MOST_BYTES / bytes);
    long step = BUFFER / transfers;
    places = new long[transfers];
    list = new ArrayList<>();
    back = new ArrayList<>();
    for (int i = 0; i < transfers; i++) {
      places[i] = i * step + random.nextLong(step - bytes);
    }
    for (int i = transfers - 1; i > 0; i--) {
      int other = random.nextInt(i + 1);
      long place = places[i];
      places[i] = places[other];
      places[other] = place;
    }
    for (long place : places) {
      list.add(Transfer.of(array, device.slice(place, bytes)));
      back.add(Transfer.of(device.slice(place, bytes), new byte[bytes]));
    }
    bare = new BareOpenCl();
    bareBuffer = bare.allocate(BUFFER);
    bare.clear(bareBuffer, BUFFER);
    bareHost = Arena.global().allocate(bytes, 4096).fill((byte) 1);
  }

  /** Closes both sides. */
  @TearDown
  public void close() {
    bare.free(bareBuffer);
    bare.close();
    device.close();
    tidepool.close();
  }

  /** Transfers the list to the device. */
  @Benchmark
  @ComparedWith({"bareArrays", "bareWrites"})
  public Object list() {
    return memory.transfers().transfer(list, TransferOptions.defaults()).orThrow();
  }

  /** Transfers by asynchronous calls. */
  @Benchmark
  @ComparedWith("bareWrites")
  public void background() {
    CompletableFuture<?>[] futures = new CompletableFuture<?>[transfers];
    for (int i = 0; i < transfers; i++) {
      futures[i] = device.copyFromAsync(array, 0, places[i], bytes);
    }
    CompletableFuture.allOf(futures).join();
  }

  /** Transfers by single calls. */
  @Benchmark
  @ComparedWith("bareWrites")
  public void oneByOne() {
    for (long place : places) {
      device.copyFrom(array, 0, place, bytes);
    }
  }

  /** Calls the bare driver once for each transfer, after a copy of the array to native memory. */
  @Benchmark
  public void bareArrays() {
    for (long place : places) {
      MemorySegment.copy(array, 0, bareHost, ValueLayout.JAVA_BYTE, 0, bytes);
      bare.write(bareBuffer, place, bareHost);
    }
  }

  /** Calls the bare driver once for each transfer; the bytes are already in native memory. */
  @Benchmark
  public void bareWrites() {
    for (long place : places) {
      bare.write(bareBuffer, place, bareHost);
    }
  }

  /** Transfers the list from the device. */
  @Benchmark
  public Object listBack() {
    return memory.transfers().transfer(back, TransferOptions.defaults()).orThrow();
  }

  /** Calls the bare driver once for each transfer from the device. */
  @Benchmark
  public void bareReads() {
    for (long place : places) {
      bare.read(bareBuffer, place, bareHost);
    }
  }
}
