package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.pooling.EvictionPolicy;
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
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random work, round after round, each with other options, sizes, threads, devices, limits, faults
 * and deadlines, and a {@link Bystander}; at the end nothing is left. {@code
 * -Dtidepool.test.soak=PT10M} says how long, {@code -Dtidepool.test.seed} which options, in which
 * order.
 */
@ExtendWith(QuietLog.class)
final class SoakTest {
  private static final Duration TIME =
      Duration.parse(System.getProperty("tidepool.test.soak", "PT10S"));
  private static final long SEED = Long.getLong("tidepool.test.seed", 1);

  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** Pages of the process may come and go by so much between two rounds. */
  private static final long RESIDENT_SLACK = 192L << 20;

  /** Files and threads that the virtual machine may have more of than at first. */
  private static final int SLACK = 20;

  @TempDir private Path parent;
  private Path spilled;
  private Path shared;
  private Path mapped;

  /** What a process has of the system. */
  private record Holdings(long residentBytes, long files, long threads) {
    /** After the collector has run, so that garbage counts as little as it can. */
    static Holdings now() throws IOException {
      System.gc();
      return new Holdings(resident(), count("fd"), count("task"));
    }
  }

  @BeforeEach
  void makeFolders() throws IOException {
    spilled = Files.createDirectory(parent.resolve("spilled"));
    shared = Files.createDirectory(parent.resolve("shared"));
    mapped = Bystander.file(parent);
  }

  @Test
  void nothingIsLeftOfALongRun() throws Exception {
    System.out.println("soak of " + TIME + ", seed " + SEED);
    SplittableRandom random = new SplittableRandom(SEED);
    long begin = System.nanoTime();
    Holdings first = null;
    long compared = 0;
    int rounds = 0;
    while (rounds < 2 || System.nanoTime() - begin < TIME.toNanos()) {
      compared += round(random.split());
      rounds++;
      if (first == null && rounds >= 2 && System.nanoTime() - begin >= TIME.toNanos() / 10) {
        // The classes are loaded, and the heap has its size.
        first = Holdings.now();
      }
    }
    System.out.println(compared + " elements compared in " + rounds + " rounds");
    assertThat(files()).isEmpty();
    if (first != null) {
      assertNothingGrew(first);
    }
  }

  private static void assertNothingGrew(Holdings first) {
    // Threads that have nothing to do any more end by themselves.
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              Holdings last = Holdings.now();
              assertThat(last.residentBytes()).isLessThan(first.residentBytes() + RESIDENT_SLACK);
              assertThat(last.files()).isLessThan(first.files() + SLACK);
              assertThat(last.threads()).isLessThan(first.threads() + SLACK);
            });
  }

  private long round(SplittableRandom random) throws Exception {
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
    boolean onDevice = random.nextInt(4) > 0;
    boolean faulty = onDevice && random.nextBoolean();
    long done;
    try (Tidepool tidepool = Discovery.using(List.of(faults), () -> Tidepool.open(options))) {
      String accelerator = onDevice ? "simulated:0" : "cpu:0";
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator(accelerator));
      // With faults, transfers are cancelled and late as well.
      RandomWorkload workload =
          new RandomWorkload(tidepool, accelerator)
              .options(options)
              .seed(random.nextLong())
              .operations(2_000)
              .threads(1 + random.nextInt(6));
      boolean tight = onDevice || options.memoryLimit() != -1;
      try (Bystander bystander =
          new Bystander(memory, random.split(), mapped, options.memoryLimit() != -1, tight)) {
        done = (faulty ? workload.faults(faults) : workload).run();
        assertThat(bystander.end()).isNotNegative();
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("with host access %s and %s".formatted(access, options), e);
      }
      faults.disarm();
      memory.synchronize();
      // An allocation that was cancelled while it was made is freed by the thread that made it.
      await().atMost(PATIENCE).until(() -> memory.statistics().totalAllocated() == 0);
      memory.trimExcess();
      await().atMost(PATIENCE).until(() -> memory.statistics().pinnedBytes() == 0);
    }
    assertThat(simulated.violations()).as("with %s", options).isEmpty();
    assertThat(simulated.devices()).extracting(SimulatedDevice::liveBlocks).containsOnly(0);
    assertThat(files())
        .as("files after %s, %s, on device: %s, faulty: %s", access, options, onDevice, faulty)
        .isEmpty();
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
            .concurrentTransfers(1 + random.nextInt(6))
            .sharedDirectory(shared)
            .history(random.nextInt(3) * 100)
            .diagnostics(
                random.nextInt(8) == 0
                    ? DiagnosticsLevel.PARANOID
                    : random.nextBoolean() ? DiagnosticsLevel.SITES : DiagnosticsLevel.COUNTERS);
    if (random.nextBoolean()) {
      options.stagingChunk(4096);
    }
    if (random.nextBoolean()) {
      options.maxPoolBytes((long) random.nextInt(512) << 10);
    }
    if (random.nextBoolean()) {
      options.memoryLimit((1024L + random.nextInt(3072)) << 10);
      if (random.nextInt(4) > 0) {
        options.spillDirectory(spilled);
      }
    }
    return options.build();
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> inSpilled = Files.list(spilled);
        Stream<Path> inShared = Files.list(shared)) {
      return Stream.concat(inSpilled, inShared).toList();
    }
  }

  /** How much this process has of something; 0 where the system does not tell. */
  private static long count(String what) throws IOException {
    Path folder = Path.of("/proc/self").resolve(what);
    if (!Files.isReadable(folder)) {
      return 0;
    }
    try (Stream<Path> all = Files.list(folder)) {
      return all.count();
    }
  }

  /** Bytes of the process in memory; 0 where the system does not tell. */
  private static long resident() throws IOException {
    Path status = Path.of("/proc/self/status");
    if (!Files.isReadable(status)) {
      return 0;
    }
    return Files.readAllLines(status).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
        .findFirst()
        .orElse(0);
  }
}
