package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.spi.AcceleratorProvider;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.fault.FaultInjector;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random operations in rounds, each with other options, sizes, threads, devices, limits, faults and
 * deadlines, and a {@link Bystander}. At the end no resources may be left. {@code
 * -Dtidepool.test.soak=PT10M} sets the duration, {@code -Dtidepool.test.seed} the options and their
 * order. A subclass provides the machines of the rounds.
 */
@ExtendWith(QuietLog.class)
public abstract class AcceleratorSoak {
  private static final Duration TIME =
      Duration.parse(System.getProperty("tidepool.test.soak", "PT2S"));
  private static final long SEED = Long.getLong("tidepool.test.seed", 1);

  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /**
   * The machine of a round.
   *
   * @param provider provides devices with little memory
   * @param accelerator one of the devices, or the processor, which never fails
   * @param kind a description for messages
   */
  public record Machine(AcceleratorProvider provider, String accelerator, String kind) {
    boolean isDevice() {
      return !accelerator.startsWith("cpu:");
    }

    @Override
    public String toString() {
      return accelerator + ", " + kind;
    }
  }

  @TempDir private Path parent;
  private Path spilled;
  private Path shared;
  private Path mapped;

  /** Returns the machine of the next round. */
  protected abstract Machine machine(SplittableRandom random);

  /** Called after each round, when its Tidepool is closed. Throws to fail the test. */
  protected abstract void verifyAfterRound();

  @BeforeEach
  final void makeFolders() throws IOException {
    spilled = Files.createDirectory(parent.resolve("spilled"));
    shared = Files.createDirectory(parent.resolve("shared"));
    mapped = Bystander.file(parent);
  }

  @Test
  final void nothingIsLeftOfALongRun() throws Exception {
    System.out.println(getClass().getSimpleName() + " of " + TIME + ", seed " + SEED);
    SplittableRandom random = new SplittableRandom(SEED);
    long begin = System.nanoTime();
    @Nullable Holdings first = null;
    long compared = 0;
    int rounds = 0;
    while (rounds < 2 || System.nanoTime() - begin < TIME.toNanos()) {
      compared += round(random.split());
      rounds++;
      if (first == null && rounds >= 2 && System.nanoTime() - begin >= TIME.toNanos() / 10) {
        // The classes are loaded, and the heap has reached its size.
        first = Holdings.now();
      }
    }
    System.out.println(compared + " elements compared in " + rounds + " rounds");
    if (first != null) {
      Holdings atFirst = first;
      // Idle threads end by themselves.
      await("no more than " + first, () -> !Holdings.now().exceed(atFirst));
    }
  }

  private long round(SplittableRandom random) throws Exception {
    Machine machine = machine(random);
    FaultInjector faults = new FaultInjector(machine.provider());
    MemoryOptions options = options(random);
    boolean faulty = machine.isDevice() && random.nextBoolean();
    long done;
    try (Tidepool tidepool = Discovery.using(List.of(faults), () -> Tidepool.open(options))) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator(machine.accelerator()));
      // Injected faults also make transfers be cancelled and late.
      RandomWorkload workload =
          new RandomWorkload(tidepool, machine.accelerator())
              .options(options)
              .seed(random.nextLong())
              .operations(2_000)
              .threads(1 + random.nextInt(6));
      boolean limited = options.memoryLimit() != -1;
      boolean tight = machine.isDevice() || limited;
      try (Bystander bystander = new Bystander(memory, random.split(), mapped, limited, tight)) {
        done = (faulty ? workload.faults(faults) : workload).run();
        assertThat(bystander.end()).isNotNegative();
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("on %s with %s".formatted(machine, options), e);
      }
      faults.disarm();
      memory.synchronize();
      // A thread that allocates frees the memory if the allocation was cancelled meanwhile.
      await("all buffers freed", () -> memory.statistics().totalAllocated() == 0);
      await("no pinned memory left", () -> pinnedAfterTrim(memory) == 0);
    }
    verifyAfterRound();
    assertThat(files()).as("files after %s, %s, faulty: %s", machine, options, faulty).isEmpty();
    return done;
  }

  /**
   * Returns the page-locked bytes without idle ones. A cancelled allocation may have a block that
   * is not counted yet. One trim later the block is returned, and stays among the kept bytes.
   */
  private static long pinnedAfterTrim(UnifiedMemoryManager memory) {
    memory.trimExcess();
    return memory.statistics().pinnedBytes();
  }

  /** Returns a random combination of options. */
  private MemoryOptions options(SplittableRandom random) {
    List<EvictionPolicy> policies = List.of(EvictionPolicy.values());
    MemoryOptions.Builder options =
        MemoryOptions.builder()
            .pooling(random.nextInt(8) > 0)
            .zeroOnRelease(random.nextInt(4) == 0)
            .evictionPolicy(policies.get(random.nextInt(policies.size())))
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

  private static void await(String what, Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.call()) {
      assertThat(System.nanoTime()).as("time to wait for: %s", what).isLessThan(end);
      LockSupport.parkNanos(50_000_000);
    }
  }
}
