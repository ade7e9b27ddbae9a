package dev.tidepool.testkit;

import dev.tidepool.Accelerator;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.workload.Operation;
import dev.tidepool.testkit.workload.Workload;
import dev.tidepool.testkit.workload.WorkloadFailure;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Random operations on buffers of an accelerator, from several threads, checked against plain
 * arrays. They include copies of every form, slices and views, mappings, lending to native code,
 * kernels, lists of transfers, distributions, prefetches and closes, synchronous and asynchronous.
 * The memory belongs to the library, to other code, and to files.
 *
 * <pre>{@code
 * new RandomWorkload(tidepool, "opencl:0").threads(4).operations(100_000).run();
 * }</pre>
 *
 * <p>The seed is logged; the system property {@code tidepool.testkit.seed} sets it. A failing list
 * of operations that also fails on one thread is shrunk by bisection, and the error contains the
 * remaining ones. With faults, driver calls fail now and then. The contents after a failed write
 * are unknown until all of them are written; everything else stays exact, and nothing leaks.
 * Asynchronous operations are then cancelled now and then, too.
 *
 * <p>Immutable; each setting returns a copy.
 */
public final class RandomWorkload {
  private static final System.Logger LOGGER = System.getLogger(RandomWorkload.class.getName());
  private static final int MOST_ATTEMPTS = 300;
  private static final long SHRINKING_NANOS = 60_000_000_000L;
  private static final int FAULTS_PER_THOUSAND = 20;
  private static final long SMALL_CHUNK = 4096;
  private static final long TIGHT = 192 << 10;

  private final Tidepool tidepool;
  private final String accelerator;
  private final long seed;
  private final int operations;
  private final int threads;
  private final @Nullable FaultInjector faults;
  private final MemoryOptions options;
  private final boolean kernels;
  private final @Nullable NativeFill nativeFill;

  /** Creates a workload of 100,000 operations on one thread, without faults. */
  public RandomWorkload(Tidepool tidepool, String accelerator) {
    this(tidepool, accelerator, Long.getLong("tidepool.testkit.seed", System.nanoTime()));
  }

  private RandomWorkload(Tidepool tidepool, String accelerator, long seed) {
    // Small staging blocks, so that short transfers take the path of large ones.
    this(
        tidepool,
        accelerator,
        seed,
        100_000,
        1,
        null,
        MemoryOptions.builder().stagingChunk(SMALL_CHUNK).build(),
        true,
        null);
  }

  private RandomWorkload(
      Tidepool tidepool,
      String accelerator,
      long seed,
      int operations,
      int threads,
      @Nullable FaultInjector faults,
      MemoryOptions options,
      boolean kernels,
      @Nullable NativeFill nativeFill) {
    this.tidepool = tidepool;
    this.accelerator = accelerator;
    this.seed = seed;
    this.operations = operations;
    this.threads = threads;
    this.faults = faults;
    this.options = options;
    this.kernels = kernels;
    this.nativeFill = nativeFill;
  }

  /** Returns this workload with a seed, which determines all that happens. */
  public RandomWorkload seed(long seed) {
    return new RandomWorkload(
        tidepool, accelerator, seed, operations, threads, faults, options, kernels, nativeFill);
  }

  /** Returns this workload with a number of operations. */
  public RandomWorkload operations(int count) {
    return new RandomWorkload(
        tidepool, accelerator, seed, count, threads, faults, options, kernels, nativeFill);
  }

  /** Returns this workload with a number of threads, which share the operations. */
  public RandomWorkload threads(int count) {
    return new RandomWorkload(
        tidepool, accelerator, seed, operations, count, faults, options, kernels, nativeFill);
  }

  /** Returns this workload with failing calls of an injector's devices, one in fifty operations. */
  public RandomWorkload faults(FaultInjector injector) {
    return new RandomWorkload(
        tidepool, accelerator, seed, operations, threads, injector, options, kernels, nativeFill);
  }

  /**
   * Returns this workload with options for its managers: two of the accelerator, and one of each
   * other.
   */
  public RandomWorkload options(MemoryOptions options) {
    return new RandomWorkload(
        tidepool, accelerator, seed, operations, threads, faults, options, kernels, nativeFill);
  }

  /**
   * Returns this workload with a memory limit that a few of its largest buffers fill. The other
   * buffers are spilled to a directory. Requests that cannot fit at all fail, so faults must be
   * expected too.
   */
  public RandomWorkload tight(Path directory) {
    return options(
        MemoryOptions.builder()
            .memoryLimit(TIGHT)
            .spillDirectory(directory)
            .stagingChunk(SMALL_CHUNK)
            .build());
  }

  /** Returns this workload without kernels, for accelerators that have no compiler here. */
  public RandomWorkload withoutKernels() {
    return new RandomWorkload(
        tidepool, accelerator, seed, operations, threads, faults, options, false, nativeFill);
  }

  /** Returns this workload with native code that fills lent buffers of the accelerator. */
  public RandomWorkload nativeFill(NativeFill fill) {
    return new RandomWorkload(
        tidepool, accelerator, seed, operations, threads, faults, options, kernels, fill);
  }

  /**
   * Runs the workload.
   *
   * @return the number of read elements that were compared with the model
   * @throws AssertionError if an element differs, an operation fails that should not, or something
   *     leaks; with the seed and, if found, a short list of operations that reproduces the failure
   */
  public long run() {
    LOGGER.log(
        System.Logger.Level.INFO,
        "{0} random operations on {1}, {2} threads{3}: -Dtidepool.testkit.seed={4}",
        operations,
        accelerator,
        threads,
        faults == null ? "" : ", with faults",
        Long.toString(seed));
    List<Operation> all =
        Operation.list(seed, operations, Workload.slots(), faults == null ? 0 : FAULTS_PER_THOUSAND)
            .stream()
            .filter(operation -> kernels || !operation.kind().isKernel())
            .toList();
    try {
      return perform(all, threads);
    } catch (Throwable e) {
      throw new AssertionError(
          "with seed %s on %s: %s%n%s"
              .formatted(seed, accelerator, e.getMessage(), described(shrunk(all))),
          e);
    }
  }

  private long perform(List<Operation> list, int threads) {
    List<UnifiedMemoryManager> managers = new ArrayList<>();
    try {
      Accelerator first = tidepool.accelerator(accelerator);
      managers.add(UnifiedMemoryManager.create(first, options));
      for (Accelerator other : tidepool.accelerators()) {
        managers.add(UnifiedMemoryManager.create(other, options));
      }
      Workload workload = new Workload(managers, faults, tidepool.peers(), nativeFill);
      inThreads(
          threads,
          thread -> {
            for (int i = thread; i < list.size(); i += threads) {
              workload.perform(list.get(i));
            }
          });
      long verified = workload.finish();
      managers.forEach(UnifiedMemoryManager::synchronize);
      return verified;
    } finally {
      if (faults != null) {
        faults.disarm();
      }
      managers.forEach(UnifiedMemoryManager::close);
      managers.forEach(RandomWorkload::checkEmpty);
    }
  }

  private static void checkEmpty(UnifiedMemoryManager manager) {
    MemoryStatistics books = manager.statistics();
    if (books.activeBuffers() != 0 || books.totalAllocated() != 0 || books.totalPooled() != 0) {
      throw new AssertionError(manager.accelerator().id() + " leaks: " + books);
    }
  }

  /** The body of one thread. */
  private interface Body {
    void run(int thread);
  }

  private static void inThreads(int count, Body body) {
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    List<Thread> running = new ArrayList<>();
    for (int t = 0; t < count; t++) {
      int thread = t;
      running.add(
          Thread.ofPlatform()
              .name("workload " + t)
              .start(
                  () -> {
                    try {
                      body.run(thread);
                    } catch (Throwable e) {
                      failure.compareAndSet(null, e);
                    }
                  }));
    }
    for (Thread thread : running) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted while the workload ran", e);
      }
    }
    Throwable first = failure.get();
    if (first instanceof Error error) {
      throw error;
    }
    if (first != null) {
      throw new AssertionError(first.toString(), first);
    }
  }

  private @Nullable Throwable failure(List<Operation> list) {
    try {
      perform(list, 1);
      return null;
    } catch (Throwable e) {
      return e;
    }
  }

  private boolean fails(List<Operation> list) {
    return failure(list) != null;
  }

  /** Returns a short list that fails on one thread, from a bounded search; empty if none fails. */
  private List<Operation> shrunk(List<Operation> failing) {
    Throwable alone = failure(failing);
    if (alone == null) {
      return List.of();
    }
    long end = System.nanoTime() + SHRINKING_NANOS;
    int attempts = 0;
    List<Operation> list = failing;
    if (alone instanceof WorkloadFailure known && known.number() >= 0) {
      List<Operation> until = failing.subList(0, known.number() + 1);
      list = fails(until) ? until : failing;
    }
    for (int piece = Math.max(1, list.size() / 2); piece > 0; piece /= 2) {
      for (int at = 0; at < list.size() && attempts < MOST_ATTEMPTS; attempts++) {
        List<Operation> without = new ArrayList<>(list.subList(0, at));
        without.addAll(list.subList(Math.min(list.size(), at + piece), list.size()));
        if (System.nanoTime() - end > 0) {
          return list;
        }
        if (!without.isEmpty() && fails(without)) {
          list = without;
        } else {
          at += piece;
        }
      }
    }
    return list;
  }

  private static String described(List<Operation> list) {
    if (list.isEmpty()) {
      return "on one thread the same operations do not fail";
    }
    StringBuilder text = new StringBuilder("these operations fail on one thread:");
    list.stream().limit(60).forEach(operation -> text.append("\n  ").append(operation));
    return list.size() > 60 ? text + "\n  and " + (list.size() - 60) + " more" : text.toString();
  }
}
