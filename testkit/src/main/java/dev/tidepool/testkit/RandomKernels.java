package dev.tidepool.testkit;

import dev.tidepool.Accelerator;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.kernels.KernelBatch;
import dev.tidepool.testkit.kernels.Kinds;
import dev.tidepool.testkit.kernels.Mismatch;
import dev.tidepool.testkit.kernels.Shrinker;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Random kernels written as Java methods, whose results on an accelerator are compared, bit for
 * bit, with what the methods compute when they are called: nested loops, switches, labelled jumps,
 * calls, casts, integers that wrap, floats and doubles with the operations that are exact
 * everywhere. Accelerators without doubles get kernels without. Where a method throws for an item,
 * the kernel has to throw the same exception with the same line.
 *
 * <pre>{@code
 * new RandomKernels(tidepool, "opencl:0").kernels(1000).run();
 * }</pre>
 *
 * <p>The seed is logged, and at the end the number of kernels; runs of more than 20,000 log a line
 * for each 10,000. The system property {@code tidepool.testkit.seed} sets it, and {@code
 * tidepool.testkit.kernels} the number of kernels. The error for a kernel that is wrong has its
 * source, shrunk as far as a minute allows, and the seed that runs it alone.
 *
 * <p>Immutable; each setting answers with a copy.
 */
public final class RandomKernels {
  private static final System.Logger LOGGER = System.getLogger(RandomKernels.class.getName());
  private static final int BATCH = 50;

  /** Longer runs than those of continuous integration tell how far they are. */
  private static final int LONGEST_SILENT = 20_000;

  private static final int REPORTED = 10_000;

  private final Tidepool tidepool;
  private final String accelerator;
  private final long seed;
  private final int kernels;
  private final boolean together;

  /**
   * Random kernels as one program, for tests of what is generated from it. An argument in front of
   * the others says which kernel is called.
   *
   * @param seed of the first kernel; the others have the numbers behind it
   * @param count how many kernels
   */
  public static KernelSource.Method program(long seed, int count) {
    return KernelBatch.of(seed, count).together();
  }

  /** 1,000 kernels, each a program of its own. */
  public RandomKernels(Tidepool tidepool, String accelerator) {
    this(
        tidepool,
        accelerator,
        Long.getLong("tidepool.testkit.seed", System.nanoTime()),
        1000,
        false);
  }

  private RandomKernels(
      Tidepool tidepool, String accelerator, long seed, int kernels, boolean together) {
    this.tidepool = tidepool;
    this.accelerator = accelerator;
    this.seed = seed;
    this.kernels = kernels;
    this.together = together;
  }

  /** The kernels follow from this: the second one from the next number. */
  public RandomKernels seed(long seed) {
    return new RandomKernels(tidepool, accelerator, seed, kernels, together);
  }

  /** How many kernels, unless the system property says so. */
  public RandomKernels kernels(int count) {
    return new RandomKernels(tidepool, accelerator, seed, count, together);
  }

  /**
   * Puts fifty kernels into one program, for accelerators whose compiler takes long: a scalar
   * argument says which of them is called.
   */
  public RandomKernels inPrograms() {
    return new RandomKernels(tidepool, accelerator, seed, kernels, true);
  }

  /**
   * Runs them on all processors.
   *
   * @return how many kernels were compared
   * @throws AssertionError if one is wrong
   */
  public int run() {
    int count = Integer.getInteger("tidepool.testkit.kernels", kernels);
    LOGGER.log(
        System.Logger.Level.INFO,
        "{0} random kernels on {1}: -Dtidepool.testkit.seed={2}",
        count,
        accelerator,
        Long.toString(seed));
    Accelerator device = tidepool.accelerator(accelerator);
    AtomicInteger compared = new AtomicInteger();
    IntStream.range(0, (count + BATCH - 1) / BATCH)
        .parallel()
        .forEach(
            batch -> {
              int size = Math.min(BATCH, count - batch * BATCH);
              run(device, seed + (long) batch * BATCH, size);
              report(compared.addAndGet(size), size, count);
            });
    return count;
  }

  private void report(int compared, int added, int count) {
    boolean isDue = count > LONGEST_SILENT && compared / REPORTED > (compared - added) / REPORTED;
    if (compared == count || isDue) {
      LOGGER.log(
          System.Logger.Level.INFO,
          "{0} of {1} random kernels on {2} compared, none is wrong: -Dtidepool.testkit.seed={3}",
          compared,
          count,
          accelerator,
          Long.toString(seed));
    }
  }

  private void run(Accelerator device, long first, int count) {
    // Programs are cached by the manager, and none of these is used twice.
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(device, MemoryOptions.builder().build())) {
      KernelBatch batch = KernelBatch.of(first, count, Kinds.of(device));
      @Nullable RuntimeException refused = null;
      List<Mismatch> mismatches = List.of();
      try {
        mismatches = batch.run(memory, together);
      } catch (RuntimeException e) {
        if (together && count > 1 && isTooLong(e)) {
          run(device, first, count / 2);
          run(device, first + count / 2, count - count / 2);
          return;
        }
        refused = e;
        mismatches = batch.run(memory, false);
      }
      if (!mismatches.isEmpty()) {
        throw failure(mismatches.getFirst(), memory);
      }
      if (refused != null) {
        throw new AssertionError(
            "together the kernels from seed %s on fail, but not alone".formatted(first), refused);
      }
    }
  }

  private static boolean isTooLong(RuntimeException e) {
    return e instanceof KernelCompilationException
        && String.valueOf(e.getMessage()).contains("divide it into several kernels");
  }

  private AssertionError failure(Mismatch mismatch, UnifiedMemoryManager memory) {
    long wrong = mismatch.seed();
    @Nullable Mismatch alone =
        KernelBatch.of(wrong, 1, Kinds.of(memory.accelerator())).run(memory, false).stream()
            .findFirst()
            .orElse(null);
    String how =
        "the random kernel of -Dtidepool.testkit.seed=%s -Dtidepool.testkit.kernels=1 is wrong on %s: %s"
            .formatted(wrong, accelerator, mismatch.what());
    String source =
        alone == null
            ? "Alone it is right: it is wrong in one program with the kernels of -Dtidepool.testkit.seed=%s"
                .formatted(seed)
            : Shrinker.shrunk(wrong, memory);
    return new AssertionError(how + "\n" + source, mismatch.cause());
  }
}
