package dev.tidepool.testkit.kernels;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Compares random kernels with barriers on an accelerator with the same kernels in plain Java
 * threads.
 */
public final class GroupBatch {
  /** The number of launches; the scalar counts them from 0. */
  private static final int LAUNCHES = 6;

  private final List<GroupBody> bodies;
  private final KernelClass compiled;
  private int refused;
  private final Set<Long> faulting = new HashSet<>();

  private GroupBatch(List<GroupBody> bodies) {
    this.bodies = bodies;
    this.compiled = KernelClass.compile(source(bodies));
  }

  /** Returns kernels of consecutive seeds. */
  public static GroupBatch of(long firstSeed, int count) {
    List<GroupBody> bodies = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      bodies.add(GroupBody.of(firstSeed + i, Set.of()));
    }
    return new GroupBatch(bodies);
  }

  /**
   * Returns the source of the smallest class found in about a minute whose kernel is still wrong.
   *
   * @param seed the seed of a wrong kernel
   */
  public static String shrunk(long seed, UnifiedMemoryManager memory) {
    int parts = GroupBody.of(seed, Set.of()).parts();
    Set<Integer> leftOut =
        Shrinker.leftOut(
            parts,
            candidate ->
                !new GroupBatch(List.of(GroupBody.of(seed, candidate))).run(memory).isEmpty());
    return source(List.of(GroupBody.of(seed, leftOut)));
  }

  private static String source(List<GroupBody> bodies) {
    StringBuilder kernels = new StringBuilder(GroupBody.HELPERS);
    bodies.forEach(body -> kernels.append(body.source()));
    return KernelClass.source(kernels.toString());
  }

  /**
   * Returns how many kernels of the last run were refused because the accelerator cannot run them.
   */
  public int refused() {
    return refused;
  }

  /** Returns how many kernels of the last run threw for an item. */
  public int faulting() {
    return faulting.size();
  }

  /** Runs all kernels and returns the wrong ones. */
  public List<Mismatch> run(UnifiedMemoryManager memory) {
    List<Mismatch> mismatches = new ArrayList<>();
    refused = 0;
    faulting.clear();
    for (GroupBody body : bodies) {
      Kernel kernel;
      try {
        kernel = memory.compile(KernelSource.method(compiled.lookup(), body.method()));
      } catch (KernelCompilationException e) {
        if (isRefusal(e)) {
          refused++;
        } else {
          mismatches.add(new Mismatch(body.seed(), "it is not compiled", e));
        }
        continue;
      }
      for (int n = 0; n < LAUNCHES; n++) {
        Optional<Mismatch> mismatch = mismatch(body, kernel, n);
        if (mismatch.isPresent() && isRefusal(mismatch.get().cause())) {
          refused++;
          break;
        }
        if (mismatch.isPresent()) {
          mismatches.add(mismatch.get());
          break;
        }
      }
    }
    return mismatches;
  }

  /** Returns whether Tidepool refused a kernel or its launch before the driver received it. */
  private static boolean isRefusal(@Nullable Throwable e) {
    String message = e == null ? "" : String.valueOf(e.getMessage());
    return message.contains("is not reached by all items of a group together")
        || message.contains("cannot run on PoCL");
  }

  private Optional<Mismatch> mismatch(GroupBody body, Kernel kernel, int n) {
    Random random = new Random(body.seed() * LAUNCHES + n);
    int[] in = random.ints(GroupBody.ITEMS, 0, 100).toArray();
    int[] counts = new int[GroupBody.ITEMS + 4];
    int[] out = random.ints(GroupBody.ITEMS, 0, 10).toArray();
    int[] expectedCounts = counts.clone();
    int[] expectedOut = out.clone();
    Method method = compiled.method(body.method());
    List<Throwable> faults =
        GroupReference.run(method, body.range(), n, in, expectedCounts, expectedOut);
    if (!faults.isEmpty()) {
      faulting.add(body.seed());
    }
    String wrong = "";
    @Nullable Throwable cause = null;
    try {
      kernel.execute(Arguments.inOrder(n, in, counts, out), body.range().launch());
      if (!faults.isEmpty()) {
        wrong = "it does not throw " + faults.getFirst();
      } else if (!Arrays.equals(out, expectedOut) || !Arrays.equals(counts, expectedCounts)) {
        wrong =
            "out is %s instead of %s, counts is %s instead of %s"
                .formatted(
                    Arrays.toString(out),
                    Arrays.toString(expectedOut),
                    Arrays.toString(counts),
                    Arrays.toString(expectedCounts));
      }
    } catch (RuntimeException thrown) {
      Class<?> owner = compiled.lookup().lookupClass();
      if (faults.stream().noneMatch(fault -> Mismatch.isSameFault(fault, thrown, owner))) {
        wrong = "it throws " + thrown + (faults.isEmpty() ? "" : " instead of one of " + faults);
        cause = thrown;
      }
    }
    return wrong.isEmpty()
        ? Optional.empty()
        : Optional.of(new Mismatch(body.seed(), "for n = " + n + " " + wrong, cause));
  }
}
