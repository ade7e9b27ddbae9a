package dev.tidepool.testkit;

import dev.tidepool.Accelerator;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.kernels.GroupBatch;
import dev.tidepool.testkit.kernels.Mismatch;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/**
 * Random kernels with barriers and memory of groups, written as Java methods. Their results on an
 * accelerator are compared with what the methods compute in threads of plain Java, one for each
 * item of a group. Barriers stand in straight code, loops and conditions; before and behind them
 * are conditions, jumps, returns and faults of some items.
 *
 * <p>A kernel may be refused: because it is not known that all items reach its barriers together,
 * or because PoCL computes kernels of its shape wrong. The share of these is bounded. A kernel that
 * ends the process ends the run: run fewer kernels from the logged seed on to find it.
 *
 * <p>The seed is logged, and at the end the numbers of kernels. The system properties {@code
 * tidepool.testkit.seed} and {@code tidepool.testkit.kernels} set seed and number. The error for a
 * kernel that is wrong has its source, shrunk as far as a minute allows, and the seed that runs it
 * alone.
 *
 * <p>Immutable; each setting answers with a copy.
 */
public final class RandomBarrierKernels {
  private static final System.Logger LOGGER =
      System.getLogger(RandomBarrierKernels.class.getName());
  private static final int BATCH = 50;

  /** The share of so few kernels says nothing. */
  private static final int FEW = 20;

  private final Tidepool tidepool;
  private final String accelerator;
  private final long seed;
  private final int kernels;
  private final int mostRefused;

  /** 1,000 kernels, of which a quarter may be refused. */
  public RandomBarrierKernels(Tidepool tidepool, String accelerator) {
    this(tidepool, accelerator, Long.getLong("tidepool.testkit.seed", System.nanoTime()), 1000, 25);
  }

  private RandomBarrierKernels(
      Tidepool tidepool, String accelerator, long seed, int kernels, int mostRefused) {
    this.tidepool = tidepool;
    this.accelerator = accelerator;
    this.seed = seed;
    this.kernels = kernels;
    this.mostRefused = mostRefused;
  }

  /** The seed of the first kernel, unless the system property says so; else it is each time new. */
  public RandomBarrierKernels seed(long first) {
    return new RandomBarrierKernels(
        tidepool, accelerator, Long.getLong("tidepool.testkit.seed", first), kernels, mostRefused);
  }

  /** How many kernels, unless the system property says so. */
  public RandomBarrierKernels kernels(int count) {
    return new RandomBarrierKernels(tidepool, accelerator, seed, count, mostRefused);
  }

  /** How many of 100 kernels may be refused. */
  public RandomBarrierKernels mostRefused(int percent) {
    return new RandomBarrierKernels(tidepool, accelerator, seed, kernels, percent);
  }

  /**
   * Runs them on all processors.
   *
   * @return how many kernels were compared
   * @throws AssertionError if one is wrong, or too many are refused
   */
  public int run() {
    int count = Integer.getInteger("tidepool.testkit.kernels", kernels);
    LOGGER.log(
        System.Logger.Level.INFO,
        "{0} random kernels with barriers on {1}: -Dtidepool.testkit.seed={2}",
        count,
        accelerator,
        Long.toString(seed));
    Accelerator device = tidepool.accelerator(accelerator);
    AtomicInteger refusals = new AtomicInteger();
    IntStream.range(0, (count + BATCH - 1) / BATCH)
        .parallel()
        .forEach(
            batch -> {
              int size = Math.min(BATCH, count - batch * BATCH);
              refusals.addAndGet(run(device, seed + (long) batch * BATCH, size));
            });
    int refused = refusals.get();
    LOGGER.log(
        System.Logger.Level.INFO,
        "{0} of {1} random kernels with barriers on {2} compared, none is wrong, {3} refused:"
            + " -Dtidepool.testkit.seed={4}",
        count - refused,
        count,
        accelerator,
        refused,
        Long.toString(seed));
    if (count >= FEW && 100L * refused > (long) mostRefused * count) {
      throw new AssertionError(
          "%s of %s random kernels with barriers are refused on %s, more than %s%%: -Dtidepool.testkit.seed=%s"
              .formatted(refused, count, accelerator, mostRefused, seed));
    }
    return count - refused;
  }

  /** Returns how many kernels were refused. */
  private int run(Accelerator device, long first, int count) {
    // Programs are cached by the manager, and none of these is used twice.
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(device, MemoryOptions.builder().build())) {
      GroupBatch batch = GroupBatch.of(first, count);
      List<Mismatch> mismatches = batch.run(memory);
      if (!mismatches.isEmpty()) {
        Mismatch wrong = mismatches.getFirst();
        throw new AssertionError(
            "the random kernel with barriers of -Dtidepool.testkit.seed=%s -Dtidepool.testkit.kernels=1 is wrong on %s: %s%n%s"
                .formatted(
                    wrong.seed(),
                    accelerator,
                    wrong.what(),
                    GroupBatch.shrunk(wrong.seed(), memory)),
            wrong.cause());
      }
      return batch.refused();
    }
  }
}
