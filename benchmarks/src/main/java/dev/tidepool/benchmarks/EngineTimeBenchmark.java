package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.Transfer;
import dev.tidepool.TransferOptions;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedLink;
import dev.tidepool.testkit.simulated.SimulatedLink.Speed;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The processor time of the transfer engine while page-locked buffers travel over simulated links:
 * of all Java threads but those that play the device, whose time is the copy itself. Prints a table
 * in Markdown, in hundredths of a core. A program of its own, for it measures threads and not time.
 */
public final class EngineTimeBenchmark {
  private static final int BYTES = 64 << 20;
  private static final int PARTS = 16;
  private static final int WARM_UP = 5;
  private static final int ROUNDS = 20;

  /** How long small transfers run first: a few large ones would not have the code compiled. */
  private static final long COMPILING_NANOS = 8_000_000_000L;

  private static final int SMALL = 64 << 10;

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private EngineTimeBenchmark() {}

  /** Runs everything. */
  public static void main(String[] arguments) {
    on(
        SimulatedLink.INSTANT,
        (memory, host, device) -> {
          long start = System.nanoTime();
          while (System.nanoTime() - start < COMPILING_NANOS) {
            device.slice(0, SMALL).copyFrom(host.slice(0, SMALL));
            list(memory, host.slice(0, SMALL), device.slice(0, SMALL)).run();
          }
        });
    System.out.println("| link | transfers | speed | of a core |\n|---|---|---|---|");
    for (int speed : new int[] {500, 2000, 8000}) {
      Speed each = Speed.of(20, speed);
      on(
          SimulatedLink.both(each, each),
          (memory, host, device) -> {
            row(speed, "one of 64 MiB", () -> device.copyFrom(host));
            row(speed, "16 of 4 MiB, as a list", list(memory, host, device));
          });
    }
  }

  /** What is done with a page-locked buffer and one of a device. */
  private interface Use {
    void of(UnifiedMemoryManager memory, UnifiedBuffer<byte[]> host, UnifiedBuffer<byte[]> device);
  }

  private static void on(SimulatedLink link, Use use) {
    SimulatedHardware hardware = SimulatedHardware.discrete().withLink(link);
    try (Tidepool tidepool =
        Discovery.using(
            List.of(new SimulatedProvider(hardware)),
            () -> Tidepool.open(MemoryOptions.defaults()))) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
      try (UnifiedBuffer<byte[]> host =
              memory.allocate(ElementType.BYTE, BYTES, MemoryLocation.PINNED);
          UnifiedBuffer<byte[]> device = memory.allocate(ElementType.BYTE, BYTES)) {
        host.fill((byte) 1);
        use.of(memory, host, device);
      }
    }
  }

  /** A list of transfers that carries all of one buffer to another. */
  private static Runnable list(
      UnifiedMemoryManager memory, UnifiedBuffer<byte[]> host, UnifiedBuffer<byte[]> device) {
    long part = host.length() / PARTS;
    List<Transfer<?>> many = new ArrayList<>();
    for (int i = 0; i < PARTS; i++) {
      many.add(Transfer.of(host.slice(i * part, part), device.slice(i * part, part)));
    }
    return () -> memory.transfers().transfer(many, TransferOptions.defaults()).orThrow();
  }

  private static void row(int speed, String what, Runnable transfer) {
    for (int i = 0; i < WARM_UP; i++) {
      transfer.run();
    }
    long busy = engineNanos();
    long start = System.nanoTime();
    for (int i = 0; i < ROUNDS; i++) {
      transfer.run();
    }
    double wall = System.nanoTime() - start;
    busy = engineNanos() - busy;
    System.out.printf(
        Locale.ROOT,
        "| %d MiB/s | %s | %.0f MiB/s | %.2f%% |%n",
        speed,
        what,
        ROUNDS * (BYTES >> 20) / (wall / 1e9),
        100 * busy / wall);
  }

  /** Of all threads that live, but for those of the simulated device. */
  private static long engineNanos() {
    long sum = 0;
    for (ThreadInfo thread : THREADS.getThreadInfo(THREADS.getAllThreadIds())) {
      if (thread != null && !thread.getThreadName().startsWith("simulated")) {
        sum += Math.max(0, THREADS.getThreadCpuTime(thread.getThreadId()));
      }
    }
    return sum;
  }
}
