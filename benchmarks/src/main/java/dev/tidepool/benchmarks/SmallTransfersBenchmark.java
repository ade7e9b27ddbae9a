package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.Tidepool;
import dev.tidepool.Transfer;
import dev.tidepool.TransferOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
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
 * A thousand small transfers to scattered places of one device buffer: as a list, as calls in the
 * background, as calls one by one, and by one blocking driver call each.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1, timeUnit = TimeUnit.SECONDS)
@Measurement(iterations = 5, time = 1, timeUnit = TimeUnit.SECONDS)
@Fork(1)
public class SmallTransfersBenchmark {
  private static final int TRANSFERS = 1000;
  private static final long BUFFER = 64L << 20;

  /** The size of one transfer. */
  @Param({"4096"})
  public int bytes;

  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private UnifiedBuffer<byte[]> device;
  private byte[] array;
  private long[] places;
  private List<Transfer<?>> list;
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
    long step = BUFFER / TRANSFERS;
    places = new long[TRANSFERS];
    list = new ArrayList<>();
    for (int i = 0; i < TRANSFERS; i++) {
      places[i] = i * step + random.nextLong(step - bytes);
    }
    for (int i = TRANSFERS - 1; i > 0; i--) {
      int other = random.nextInt(i + 1);
      long place = places[i];
      places[i] = places[other];
      places[other] = place;
    }
    for (long place : places) {
      list.add(Transfer.of(array, device.slice(place, bytes)));
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

  /** As a list. */
  @Benchmark
  public Object list() {
    return memory.transfers().transfer(list, TransferOptions.defaults()).orThrow();
  }

  /** As calls in the background. */
  @Benchmark
  public void background() {
    CompletableFuture<?>[] futures = new CompletableFuture<?>[TRANSFERS];
    for (int i = 0; i < TRANSFERS; i++) {
      futures[i] = device.copyFromAsync(array, 0, places[i], bytes);
    }
    CompletableFuture.allOf(futures).join();
  }

  /** As calls one by one. */
  @Benchmark
  public void oneByOne() {
    for (long place : places) {
      device.copyFrom(array, 0, place, bytes);
    }
  }

  /** By the driver alone, one blocking call each. */
  @Benchmark
  public void bareWrites() {
    for (long place : places) {
      bare.write(bareBuffer, place, bareHost);
    }
  }
}
