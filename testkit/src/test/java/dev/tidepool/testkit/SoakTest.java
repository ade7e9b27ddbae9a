package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.DiagnosticsLevel;
import dev.tidepool.EvictionPolicy;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random work, round after round, each with other options, threads, devices and faults; at the end
 * nothing is left. {@code -Dtidepool.test.soak=PT10M} says how long, {@code -Dtidepool.test.seed}
 * which options, in which order.
 */
final class SoakTest {
  private static final Duration TIME =
      Duration.parse(System.getProperty("tidepool.test.soak", "PT10S"));
  private static final long SEED = Long.getLong("tidepool.test.seed", 1);

  /** Pages of the process may come and go by so much between two rounds. */
  private static final long SLACK = 192L << 20;

  @TempDir private Path folder;

  @Test
  void nothingIsLeftOfALongRun() throws IOException {
    System.out.println("soak of " + TIME + ", seed " + SEED);
    SplittableRandom random = new SplittableRandom(SEED);
    long end = System.nanoTime() + TIME.toNanos();
    long residentAtFirst = -1;
    long compared = 0;
    int rounds = 0;
    while (rounds < 2 || System.nanoTime() < end) {
      compared += round(random.split());
      rounds++;
      if (rounds == 2) {
        // The classes are loaded, and the heap has its size.
        residentAtFirst = resident();
      }
    }
    System.out.println(compared + " reads compared in " + rounds + " rounds");
    assertThat(files()).isEmpty();
    if (residentAtFirst >= 0) {
      assertThat(resident()).isLessThan(residentAtFirst + SLACK);
    }
  }

  private long round(SplittableRandom random) throws IOException {
    HostAccess access = HostAccess.values()[random.nextInt(HostAccess.values().length)];
    // What the host sees cannot be evicted, nor moved once it was exposed: it needs more room.
    long smallest = access == HostAccess.NONE ? 384L << 10 : 2L << 20;
    SimulatedProvider simulated =
        new SimulatedProvider(
            SimulatedHardware.discrete()
                .withMemory(smallest << random.nextInt(3))
                .withPinned((long) random.nextInt(128) << 10)
                .withHostAccess(access));
    FaultInjector faults = new FaultInjector(simulated);
    MemoryOptions options = options(random);
    long done;
    try (Tidepool tidepool = Discovery.using(List.of(faults), Tidepool::open)) {
      boolean onDevice = random.nextInt(4) > 0;
      RandomWorkload workload =
          new RandomWorkload(tidepool, onDevice ? "simulated:0" : "cpu:0")
              .options(options)
              .seed(random.nextLong())
              .operations(2_000)
              .threads(1 + random.nextInt(6));
      if (onDevice && random.nextBoolean()) {
        workload.faults(faults);
      }
      done = workload.run();
      faults.disarm();
      UnifiedMemoryManager memory = tidepool.memory();
      assertThat(memory.statistics().totalAllocated()).isZero();
      memory.trimExcess();
      assertThat(memory.statistics().pinnedBytes()).isZero();
    }
    assertThat(simulated.violations()).as("with %s", options).isEmpty();
    assertThat(simulated.devices()).extracting(SimulatedDevice::liveBlocks).containsOnly(0);
    assertThat(files()).as("files after %s", options).isEmpty();
    return done;
  }

  /** Options that meet each other by chance. */
  private MemoryOptions options(SplittableRandom random) {
    MemoryOptions.Builder options =
        MemoryOptions.builder()
            .pooling(random.nextInt(8) > 0)
            .zeroOnRelease(random.nextInt(4) == 0)
            .evictionPolicy(EvictionPolicy.values()[random.nextInt(EvictionPolicy.values().length)])
            .trimInterval(Duration.ofMillis(random.nextInt(400)))
            .defragmentInterval(Duration.ofMillis(random.nextInt(400)))
            .diagnostics(
                random.nextInt(8) == 0
                    ? DiagnosticsLevel.PARANOID
                    : random.nextBoolean() ? DiagnosticsLevel.SITES : DiagnosticsLevel.COUNTERS);
    if (random.nextBoolean()) {
      options.maxPoolBytes((long) random.nextInt(512) << 10);
    }
    if (random.nextBoolean()) {
      options.memoryLimit((1024L + random.nextInt(3072)) << 10);
      if (random.nextInt(4) > 0) {
        options.spillDirectory(folder);
      }
    }
    return options.build();
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  /** Bytes of the process in memory; -1 where the system does not tell. */
  private static long resident() throws IOException {
    Path status = Path.of("/proc/self/status");
    if (!Files.isReadable(status)) {
      return -1;
    }
    return Files.readAllLines(status).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
        .findFirst()
        .orElse(-1);
  }
}
