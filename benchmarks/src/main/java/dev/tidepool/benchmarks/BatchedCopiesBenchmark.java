package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
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
 * Transfers lists of 1,000 times 4 KiB to the simulated CUDA driver and back, with one driver call
 * for each copy or with batches of copies. Prints the number of driver calls of a list.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1, timeUnit = TimeUnit.SECONDS)
@Measurement(iterations = 5, time = 1, timeUnit = TimeUnit.SECONDS)
@Fork(1)
public class BatchedCopiesBenchmark {
  private static final int TRANSFERS = 1000;
  private static final int BYTES = 4096;
  private static final long STEP = 2L * BYTES;

  /** {@code always} or {@code none}. */
  @Param({"none", "always"})
  public String batches;

  private SimulatedCuda driver;
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;
  private UnifiedBuffer<byte[]> device;
  private final List<Transfer<?>> out = new ArrayList<>();
  private final List<Transfer<?>> back = new ArrayList<>();

  /** Opens the simulated driver. */
  @Setup
  public void open() {
    driver = SimulatedCuda.find().orElseThrow();
    driver.reset(1);
    System.setProperty("tidepool.cuda.library", driver.driver().toString());
    System.setProperty("tidepool.cuda.batches", batches);
    tidepool = Tidepool.open();
    memory = tidepool.memory(tidepool.accelerator("cuda:0"));
    device = memory.allocate(ElementType.BYTE, TRANSFERS * STEP);
    device.fill((byte) 1);
    byte[] array = new byte[BYTES];
    for (int i = 0; i < TRANSFERS; i++) {
      out.add(Transfer.of(array, device.slice(i * STEP, BYTES)));
      back.add(Transfer.of(device.slice(i * STEP, BYTES), new byte[BYTES]));
    }
  }

  /** Prints the calls of one list in each direction, and closes everything. */
  @TearDown
  public void close() {
    driver.forget();
    list();
    System.out.println("calls of the driver for a list: " + driver.calls());
    driver.forget();
    listBack();
    System.out.println("calls of the driver for a list back: " + driver.calls());
    device.close();
    tidepool.close();
  }

  /** Transfers the list to the device. */
  @Benchmark
  public Object list() {
    return memory.transfers().transfer(out, TransferOptions.defaults()).orThrow();
  }

  /** Transfers the list from the device. */
  @Benchmark
  public Object listBack() {
    return memory.transfers().transfer(back, TransferOptions.defaults()).orThrow();
  }
}
