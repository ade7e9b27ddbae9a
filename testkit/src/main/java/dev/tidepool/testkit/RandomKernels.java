package dev.tidepool.testkit;

import dev.tidepool.Accelerator;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.kernels.GroupBatch;
import dev.tidepool.testkit.kernels.KernelBatch;
import dev.tidepool.testkit.kernels.Kinds;
import dev.tidepool.testkit.kernels.Mismatch;
import dev.tidepool.testkit.kernels.Shrinker;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Random kernels written as Java methods. Their results on an accelerator are compared, bit for
 * bit, with those of calling the methods. The kernels have nested loops, switches, labelled jumps,
 * calls, casts, integers that wrap, and floats and doubles with the operations that are exact
 * everywhere. Ranges have one to three dimensions. Accelerators without doubles get kernels without
 * them. If a method throws for an item, the kernel must throw the same exception with the same
 * line.
 *
 * <p>Kernels store to some arrays without loading them. In some kernels every item stores to its
 * own element, in others only some items do, or to other elements, or the range has not the array's
 * length. The arguments are arrays, buffers or slices, and one of them may be passed twice.
 *
 * <p>Other kernels have {@linkplain #withBarriers barriers} and group memory. Their methods run in
 * plain Java with one thread for each item of a group. Barriers occur in straight code, loops and
 * conditions. Before and after them, some items meet conditions, jumps, returns and faults. Such a
 * kernel may be refused: if it is not known that all items reach its barriers together, or if PoCL
 * computes kernels of its shape wrong. A kernel that kills the process ends the run. To find it,
 * run fewer kernels from the logged seed.
 *
 * <pre>{@code
 * new RandomKernels(tidepool, "opencl:0").kernels(1000).run();
 * }</pre>
 *
 * <p>The seed and the final number of kernels are logged; runs of more than 20,000 log a line for
 * each 10,000. The system property {@code tidepool.testkit.seed} sets the seed, and {@code
 * tidepool.testkit.kernels} the number of kernels. The error for a wrong kernel contains its
 * source, shrunk as far as a minute allows, and the seed that runs it alone.
 *
 * <p>Immutable; each setting returns a copy.
 */
public final class RandomKernels {
  private static final System.Logger LOGGER = System.getLogger(RandomKernels.class.getName());
  private static final int BATCH = 50;

  /** Longer runs than those of continuous integration report their progress. */
  private static final int LONGEST_SILENT = 20_000;

  private static final int REPORTED = 10_000;

  /** The share of refused kernels is not significant for fewer kernels. */
  private static final int FEW = 20;

  private final Tidepool tidepool;
  private final String accelerator;
  private final long seed;
  private final int kernels;
  private final boolean together;
  private final boolean barriers;
  private final int mostRefused;

  /**
   * Returns random kernels as one program, for tests of generated code. A scalar in front of the
   * arguments selects the kernel.
   *
   * @param seed the seed of the first kernel; the others have the following seeds
   * @param count the number of kernels
   */
  public static KernelSource.Method program(long seed, int count) {
    return KernelBatch.of(seed, count).together();
  }

  /** Creates 1,000 kernels, each a program of its own. */
  public RandomKernels(Tidepool tidepool, String accelerator) {
    this(
        tidepool,
        accelerator,
        Long.getLong("tidepool.testkit.seed", System.nanoTime()),
        1000,
        false,
        false,
        0);
  }

  private RandomKernels(
      Tidepool tidepool,
      String accelerator,
      long seed,
      int kernels,
      boolean together,
      boolean barriers,
      int mostRefused) {
    this.tidepool = tidepool;
    this.accelerator = accelerator;
    this.seed = seed;
    this.kernels = kernels;
    this.together = together;
    this.barriers = barriers;
    this.mostRefused = mostRefused;
  }

  /**
   * Returns a copy with a seed for the first kernel, unless the system property {@code
   * tidepool.testkit.seed} sets it. The second kernel has the next number as its seed.
   */
  public RandomKernels seed(long first) {
    long chosen = Long.getLong("tidepool.testkit.seed", first);
    return new RandomKernels(
        tidepool, accelerator, chosen, kernels, together, barriers, mostRefused);
  }

  /**
   * Returns a copy with a number of kernels, unless the system property {@code
   * tidepool.testkit.kernels} sets it.
   */
  public RandomKernels kernels(int count) {
    return new RandomKernels(tidepool, accelerator, seed, count, together, barriers, mostRefused);
  }

  /**
   * Returns a copy that puts fifty kernels into one program, for accelerators with a slow compiler.
   * A scalar argument selects the kernel.
   */
  public RandomKernels inPrograms() {
    return new RandomKernels(tidepool, accelerator, seed, kernels, true, false, 0);
  }

  /**
   * Returns a copy with barriers in the kernels, each a program of its own.
   *
   * @param percent the percentage of kernels that may be refused
   */
  public RandomKernels withBarriers(int percent) {
    return new RandomKernels(tidepool, accelerator, seed, kernels, false, true, percent);
  }

  /**
   * Runs the kernels on all processors.
   *
   * @return the number of compared kernels
   * @throws AssertionError if a kernel is wrong, or too many are refused
   */
  public int run() {
    int count = Integer.getInteger("tidepool.testkit.kernels", kernels);
    log("{0} {1} on {2}: {3}", count, kind(), accelerator, setting(seed));
    Accelerator device = tidepool.accelerator(accelerator);
    AtomicInteger done = new AtomicInteger();
    AtomicInteger refused = new AtomicInteger();
    AtomicInteger faulting = new AtomicInteger();
    IntStream.range(0, (count + BATCH - 1) / BATCH)
        .parallel()
        .forEach(
            batch -> {
              int size = Math.min(BATCH, count - batch * BATCH);
              run(device, seed + (long) batch * BATCH, size, refused, faulting);
              report(done.addAndGet(size), size, count);
            });
    int left = refused.get();
    log(
        "{0} of {1} {2} on {3} were compared, none is wrong, {4} throw, {5} were refused: {6}",
        count - left, count, kind(), accelerator, faulting, left, setting(seed));
    if (count >= FEW && 100L * left > (long) mostRefused * count) {
      throw new AssertionError(
          "%s of %s %s are refused on %s, more than %s%%: %s"
              .formatted(left, count, kind(), accelerator, mostRefused, setting(seed)));
    }
    // For a kernel that throws, only the exception is compared.
    if (count >= FEW && 2 * faulting.get() > count) {
      throw new AssertionError(
          "%s of %s %s throw on %s, most of them: %s"
              .formatted(faulting, count, kind(), accelerator, setting(seed)));
    }
    return count - left;
  }

  private void report(int done, int added, int count) {
    if (count > LONGEST_SILENT && done / REPORTED > (done - added) / REPORTED) {
      log(
          "{0} of {1} {2} on {3} are done, none is wrong: {4}",
          done, count, kind(), accelerator, setting(seed));
    }
  }

  private static void log(String format, Object... values) {
    LOGGER.log(System.Logger.Level.INFO, format, values);
  }

  private String kind() {
    return barriers ? "random kernels with barriers" : "random kernels";
  }

  private static String setting(long seed) {
    return "-Dtidepool.testkit.seed=" + seed;
  }

  /** Runs consecutive kernels; counts those that are refused and those that throw. */
  private void run(
      Accelerator device, long first, int count, AtomicInteger refused, AtomicInteger faulting) {
    // A new manager, because managers cache programs, and none of these is used twice.
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(device, MemoryOptions.builder().build())) {
      if (barriers) {
        GroupBatch batch = compareGroups(memory, first, count);
        refused.addAndGet(batch.refused());
        faulting.addAndGet(batch.faulting());
      } else {
        faulting.addAndGet(compare(memory, first, count));
      }
    }
  }

  private GroupBatch compareGroups(UnifiedMemoryManager memory, long first, int count) {
    GroupBatch batch = GroupBatch.of(first, count);
    List<Mismatch> mismatches = batch.run(memory);
    if (!mismatches.isEmpty()) {
      Mismatch wrong = mismatches.getFirst();
      throw failure(wrong, GroupBatch.shrunk(wrong.seed(), memory));
    }
    return batch;
  }

  /** Compares kernels; returns how many throw. */
  private int compare(UnifiedMemoryManager memory, long first, int count) {
    KernelBatch batch = KernelBatch.of(first, count, Kinds.of(memory.accelerator()));
    @Nullable RuntimeException refused = null;
    List<Mismatch> mismatches = List.of();
    try {
      mismatches = batch.run(memory, together);
    } catch (RuntimeException e) {
      if (together && count > 1 && isTooLong(e)) {
        return compare(memory, first, count / 2)
            + compare(memory, first + count / 2, count - count / 2);
      }
      refused = e;
      mismatches = batch.run(memory, false);
    }
    if (!mismatches.isEmpty()) {
      Mismatch wrong = mismatches.getFirst();
      throw failure(wrong, source(wrong.seed(), memory));
    }
    if (refused != null) {
      throw new AssertionError(
          "together the kernels from seed %s on fail, but not alone".formatted(first), refused);
    }
    return batch.faulting();
  }

  private static boolean isTooLong(RuntimeException e) {
    return e instanceof KernelCompilationException
        && String.valueOf(e.getMessage()).contains("divide it into several kernels");
  }

  private String source(long wrong, UnifiedMemoryManager memory) {
    return KernelBatch.of(wrong, 1, Kinds.of(memory.accelerator())).run(memory, false).isEmpty()
        ? "Alone it is right: it is wrong in one program with the kernels of " + setting(seed)
        : Shrinker.shrunk(wrong, memory);
  }

  private AssertionError failure(Mismatch wrong, String source) {
    return new AssertionError(
        "one of the %s is wrong on %s, %s -Dtidepool.testkit.kernels=1: %s%n%s"
            .formatted(kind(), accelerator, setting(wrong.seed()), wrong.what(), source),
        wrong.cause());
  }
}
