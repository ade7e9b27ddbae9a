package dev.tidepool.benchmarks;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedLink;
import dev.tidepool.testkit.simulated.SimulatedLink.Speed;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferPriority;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Measures what the library adds to links of known speed. The first row is a pipeline of copies in,
 * kernels and copies out of equal length. It is compared with the ideal time: one stage for each
 * chunk and two more. The second row is a critical transfer behind ten thousand bulk transfers,
 * compared with the time of one chunk. The rows are milliseconds: the least and the median of some
 * runs. This is a program of its own, because its rows are compared with known times.
 */
public final class AsynchronousBenchmark {
  private static final int CHUNK = 4 << 20;
  private static final int CHUNKS = 50;
  private static final int BUFFERS = 4;
  private static final int BULK = 10_000;
  private static final int RUNS = 9;

  private static final Speed LINK = Speed.of(20, 2000);
  private static final double STAGE_NANOS = 20e3 + CHUNK * 1e9 / (2000L << 20);

  private final UnifiedMemoryManager memory;

  private AsynchronousBenchmark(UnifiedMemoryManager memory) {
    this.memory = memory;
  }

  /** Runs everything; an argument sets the number of runs of each row. */
  public static void main(String[] arguments) {
    int runs = arguments.length > 0 ? Integer.parseInt(arguments[0]) : RUNS;
    SimulatedProvider simulated =
        new SimulatedProvider(
            SimulatedHardware.discrete().withLink(SimulatedLink.both(LINK, LINK)));
    try (Tidepool tidepool = Discovery.using(List.of(simulated), Tidepool::open)) {
      AsynchronousBenchmark benchmark = new AsynchronousBenchmark(tidepool.memory());
      double ideal = (CHUNKS + 2) * STAGE_NANOS;
      print("copy in, compute, copy out", ideal, benchmark.runs(runs, benchmark::overlapped));
      print("critical behind bulk", STAGE_NANOS, benchmark.runs(runs, benchmark::urgent));
    }
  }

  private static void print(String what, double ideal, double[] nanos) {
    double median = nanos[nanos.length / 2];
    System.out.printf(
        Locale.ROOT,
        "%s: %.2f ms at least, %.2f by the median; %.2f is known: %.2f and %.2f of it%n",
        what,
        nanos[0] / 1e6,
        median / 1e6,
        ideal / 1e6,
        ideal / nanos[0],
        ideal / median);
  }

  private interface Run {
    /** Returns the time in nanoseconds. */
    long time();
  }

  private double[] runs(int count, Run run) {
    run.time();
    double[] nanos = new double[count];
    for (int i = 0; i < count; i++) {
      nanos[i] = run.time();
    }
    Arrays.sort(nanos);
    return nanos;
  }

  /** Copies page-locked bytes to the device, computes and copies them back, in several buffers. */
  private long overlapped() {
    Kernel working =
        memory.compile(
            KernelSource.java(
                _ -> waitFor((long) STAGE_NANOS), KernelParameter.inout("x", ElementType.BYTE)));
    List<UnifiedBuffer<byte[]>> all = new ArrayList<>();
    try {
      for (int i = 0; i < 3 * BUFFERS; i++) {
        MemoryLocation location = i < BUFFERS ? MemoryLocation.DEVICE : MemoryLocation.PINNED;
        all.add(memory.allocate(ElementType.BYTE, CHUNK, location));
        all.getLast().fill((byte) i);
      }
      long start = System.nanoTime();
      List<CompletableFuture<Void>> done = new ArrayList<>();
      for (int i = 0; i < CHUNKS; i++) {
        int turn = i % BUFFERS;
        UnifiedBuffer<byte[]> chunk = all.get(turn);
        var _ = chunk.copyFromAsync(all.get(BUFFERS + turn));
        var _ = working.executeAsync(Arguments.of("x", chunk), LaunchRange.of(1));
        done.add(all.get(2 * BUFFERS + turn).copyFromAsync(chunk));
      }
      done.forEach(CompletableFuture::join);
      return System.nanoTime() - start;
    } finally {
      all.forEach(UnifiedBuffer::close);
    }
  }

  private static void waitFor(long nanos) {
    long end = System.nanoTime() + nanos;
    for (long left = nanos; left > 0; left = end - System.nanoTime()) {
      if (left > 100_000) {
        LockSupport.parkNanos(left - 80_000);
      } else {
        Thread.onSpinWait();
      }
    }
  }

  /** Measures the time to the first chunk of a critical transfer while bulk transfers wait. */
  private long urgent() {
    List<UnifiedBuffer<byte[]>> all = new ArrayList<>();
    try {
      List<Transfer<?>> bulk = new ArrayList<>();
      byte[] large = new byte[CHUNK];
      for (int i = 0; i < 8; i++) {
        all.add(memory.allocate(ElementType.BYTE, large.length));
      }
      for (int i = 0; i < BULK; i++) {
        bulk.add(Transfer.of(large, all.get(i % all.size())));
      }
      CompletableFuture<?> report =
          memory
              .transfers()
              .transferAsync(
                  bulk, TransferOptions.builder().priority(TransferPriority.LOW).build());
      LockSupport.parkNanos(50_000_000);
      UnifiedBuffer<byte[]> wanted = memory.allocate(ElementType.BYTE, 4096);
      all.add(wanted);
      AtomicLong begun = new AtomicLong();
      TransferOptions critical =
          TransferOptions.builder()
              .priority(TransferPriority.CRITICAL)
              .pinned(false)
              .progress((_, _) -> begun.compareAndSet(0, System.nanoTime()))
              .build();
      long start = System.nanoTime();
      memory.transfers().transfer(List.of(Transfer.of(new byte[4096], wanted)), critical).orThrow();
      report.cancel(false);
      report.join();
      return begun.get() - start;
    } finally {
      all.forEach(UnifiedBuffer::close);
    }
  }
}
