package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.link.Calibrator;
import dev.tidepool.link.DeviceLink;
import dev.tidepool.link.HostRegion;
import dev.tidepool.link.StagingRing;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.Queue;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedLink;
import dev.tidepool.testkit.simulated.SimulatedLink.Speed;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Copies an array to a device on simulated links of three speeds, with every fixed chunk size and
 * number of blocks, and with the library's own choice. Prints a Markdown table for each link:
 * milliseconds, the least of some runs. This is a program of its own, because its rows are compared
 * with each other.
 */
public final class StagingBenchmark {
  private static final int BYTES = 32 << 20;
  private static final int MOST = 4 << 20;
  private static final int RUNS = 15;
  private static final int DEEPEST = 4;

  private static final Map<String, Speed> LINKS =
      new TreeMap<>(
          Map.of(
              "1: 500 MiB/s, 20 µs", Speed.of(20, 500),
              "2: 2,000 MiB/s, 100 µs", Speed.of(100, 2000),
              "3: 8,000 MiB/s, 30 µs", Speed.of(30, 8000)));

  private final Device device;
  private final StagingBlocks staging;
  private final Block block;
  private final byte[] array = new byte[BYTES];
  private final HostRegion source = new HostRegion.Elements<>(ElementType.BYTE, array, 0, BYTES);

  private StagingBenchmark(Speed speed) {
    SimulatedHardware hardware =
        SimulatedHardware.discrete().withLink(SimulatedLink.both(speed, speed));
    device = new SimulatedProvider(hardware).discover().devices().getFirst();
    staging = new StagingBlocks(device);
    block = device.allocate(BYTES, 64, BlockKind.DEVICE);
    Arrays.fill(array, (byte) 1);
  }

  /** Runs everything; an argument sets the number of runs of each row. */
  public static void main(String[] arguments) {
    int runs = arguments.length > 0 ? Integer.parseInt(arguments[0]) : RUNS;
    LINKS.forEach((name, speed) -> new StagingBenchmark(speed).table(name, runs));
  }

  private void table(String name, int runs) {
    System.out.println("\n" + name + "\n\n| chunk | 2 blocks | 3 | 4 |\n|---|---|---|---|");
    double best = Double.MAX_VALUE;
    for (int chunk = MOST; chunk >= 64 << 10; chunk /= 2) {
      StringBuilder row = new StringBuilder("| " + (chunk >> 10) + " KiB |");
      for (int depth = 2; depth <= DEEPEST; depth++) {
        double fixed = fixed(chunk, depth, runs);
        best = Math.min(best, fixed);
        row.append(String.format(Locale.ROOT, " %.2f |", fixed));
      }
      System.out.println(row);
    }
    double adaptive = adaptive(runs);
    System.out.printf(
        Locale.ROOT,
        "%nadaptive: %.2f ms, %.2f of the best fixed choice; the link alone: %.2f ms%n",
        adaptive,
        adaptive / best,
        alone(runs));
    block.free();
    staging.close();
    device.close();
  }

  private double fixed(int chunk, int depth, int runs) {
    try (Queue queue = device.createQueue()) {
      return least(
          runs,
          () -> {
            try (StagingRing ring = new StagingRing(BYTES, 1, chunk, depth, true, staging, null)) {
              ring.run(
                  new StagingRing.ChunkSteps() {
                    @Override
                    public void fill(MemorySegment staged, long at) {
                      source.copyTo(at, staged);
                    }

                    @Override
                    public Event submit(MemorySegment staged, long at) {
                      return queue.write(staged, block, at);
                    }
                  },
                  _ -> {});
            }
          });
    }
  }

  private double adaptive(int runs) {
    try (DeviceLink link =
        new DeviceLink(device, staging, new NoStagingThreads(), MOST, () -> {})) {
      link.calibrated(new Calibrator(device, staging, true).measure(block, List.of()));
      return least(runs, () -> link.upload(source, block, 0));
    }
  }

  /** Measures the driver alone: one write of bytes that are already in place. */
  private double alone(int runs) {
    Block pinned = device.allocate(BYTES, 64, BlockKind.PINNED);
    try (Queue queue = device.createQueue()) {
      MemorySegment bytes = pinned.segment();
      return least(
          runs,
          () -> {
            try (Event event = queue.write(bytes, block, 0)) {
              event.await();
            }
          });
    } finally {
      pinned.free();
    }
  }

  private static double least(int runs, Runnable action) {
    action.run();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < runs; i++) {
      long start = System.nanoTime();
      action.run();
      least = Math.min(least, System.nanoTime() - start);
    }
    return least / 1e6;
  }
}
