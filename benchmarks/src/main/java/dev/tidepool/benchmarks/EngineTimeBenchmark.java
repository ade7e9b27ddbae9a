package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedLink;
import dev.tidepool.testkit.simulated.SimulatedLink.Speed;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/**
 * The processor time of the transfer engine while page-locked buffers are copied over simulated
 * links. It is the time of all Java threads except those of the simulated device, whose time is the
 * copy itself. For comparison, a thread makes the simulated driver's calls without the engine.
 * Prints a Markdown table in hundredths of a core. This is a program of its own, because it
 * measures the time of threads.
 */
public final class EngineTimeBenchmark {
  private static final int BYTES = 64 << 20;
  private static final int PARTS = 16;

  /** The time of each row, and of its unmeasured warm-up, because compiler threads count too. */
  private static final long ROW_NANOS = 4_000_000_000L;

  /** The time for which small transfers run first, to get the code compiled. */
  private static final long COMPILING_NANOS = 8_000_000_000L;

  private static final int SMALL = 64 << 10;

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private EngineTimeBenchmark() {}

  public static void main(String[] arguments) {
    on(
        SimulatedLink.INSTANT,
        (memory, host, device, _) -> {
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
          (memory, host, device, bare) -> {
            row(speed, "one of 64 MiB", () -> device.copyFrom(host));
            row(speed, "16 of 4 MiB, as a list", list(memory, host, device));
            commands(speed, bare);
          });
    }
  }

  /** An operation on a page-locked buffer and a device buffer. */
  private interface Use {
    void of(
        UnifiedMemoryManager memory,
        UnifiedBuffer<byte[]> host,
        UnifiedBuffer<byte[]> device,
        Device bare);
  }

  private static void on(SimulatedLink link, Use use) {
    SimulatedHardware hardware = SimulatedHardware.discrete().withPinned(3L * BYTES).withLink(link);
    SimulatedProvider provider = new SimulatedProvider(hardware);
    try (Tidepool tidepool =
        Discovery.using(List.of(provider), () -> Tidepool.open(MemoryOptions.defaults()))) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
      try (UnifiedBuffer<byte[]> host =
              memory.allocate(ElementType.BYTE, BYTES, MemoryLocation.PINNED);
          UnifiedBuffer<byte[]> device = memory.allocate(ElementType.BYTE, BYTES)) {
        host.fill((byte) 1);
        use.of(memory, host, device, provider.device("simulated:0"));
      }
    }
  }

  /** Returns a list of transfers that copies all of one buffer to another. */
  private static Runnable list(
      UnifiedMemoryManager memory, UnifiedBuffer<byte[]> host, UnifiedBuffer<byte[]> device) {
    long part = host.length() / PARTS;
    List<Transfer<?>> many = new ArrayList<>();
    for (int i = 0; i < PARTS; i++) {
      many.add(Transfer.of(host.slice(i * part, part), device.slice(i * part, part)));
    }
    return () -> memory.transfers().transfer(many, TransferOptions.defaults()).orThrow();
  }

  /** Measures the device's calls alone: two commands in flight, for which this thread waits. */
  private static void commands(int speed, Device bare) {
    Block device = bare.allocate(BYTES, 64, BlockKind.DEVICE);
    Block host = bare.allocate(BYTES, 64, BlockKind.PINNED);
    Queue queue = bare.createQueue();
    int step = BYTES / PARTS;
    MemorySegment bytes = Objects.requireNonNull(host.segment(), "pinned");
    row(
        speed,
        "16 commands of 4 MiB without the engine",
        () -> {
          Event last = queue.write(bytes.asSlice(0, step), device, 0);
          for (int at = step; at < BYTES; at += step) {
            Event next = queue.write(bytes.asSlice(at, step), device, at);
            finish(last);
            last = next;
          }
          finish(last);
        });
    queue.close();
    host.free();
    device.free();
  }

  private static void finish(Event event) {
    event.await();
    event.close();
  }

  private static void row(int speed, String what, Runnable transfer) {
    repeat(transfer);
    long busy = engineNanos();
    long start = System.nanoTime();
    int rounds = repeat(transfer);
    double wall = System.nanoTime() - start;
    busy = engineNanos() - busy;
    System.out.printf(
        Locale.ROOT,
        "| %d MiB/s | %s | %.0f MiB/s | %.2f%% |%n",
        speed,
        what,
        (double) rounds * (BYTES >> 20) / (wall / 1e9),
        100 * busy / wall);
  }

  private static int repeat(Runnable transfer) {
    long start = System.nanoTime();
    int rounds = 0;
    while (System.nanoTime() - start < ROW_NANOS) {
      transfer.run();
      rounds++;
    }
    return rounds;
  }

  /** Returns the processor time of all live threads except those of the simulated device. */
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
