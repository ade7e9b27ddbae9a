package dev.tidepool.testkit.kernels;

import dev.tidepool.UnifiedMemoryManager;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/** Shrinks a wrong kernel as long as it stays wrong. */
public final class Shrinker {
  private static final long MOST_NANOS = 60_000_000_000L;

  private Shrinker() {}

  /**
   * Returns the source of the smallest class found in about a minute whose kernel is still wrong.
   *
   * @param seed the seed of a kernel that is wrong when it runs alone
   */
  public static String shrunk(long seed, UnifiedMemoryManager memory) {
    Kinds kinds = Kinds.of(memory.accelerator());
    Set<Integer> leftOut =
        leftOut(
            KernelBody.of(seed, Set.of(), kinds).parts(),
            candidate ->
                !KernelBatch.of(KernelBody.of(seed, candidate, kinds))
                    .run(memory, false)
                    .isEmpty());
    return KernelClass.source(List.of(KernelBody.of(seed, leftOut, kinds)));
  }

  /**
   * Returns the parts that can be omitted, as found in about a minute.
   *
   * @param parts the number of parts
   * @param isWrong returns whether a kernel without some parts is still wrong
   */
  static Set<Integer> leftOut(int parts, Predicate<Set<Integer>> isWrong) {
    long end = System.nanoTime() + MOST_NANOS;
    Set<Integer> leftOut = new HashSet<>();
    // Two rounds, because a declaration can be omitted after its last use.
    for (int round = 0; round < 2; round++) {
      for (int piece = Math.max(1, parts / 4); piece > 0; piece /= 2) {
        for (int from = 0; from < parts && System.nanoTime() - end < 0; from += piece) {
          Set<Integer> more = new HashSet<>(leftOut);
          for (int part = from; part < Math.min(parts, from + piece); part++) {
            more.add(part);
          }
          if (more.size() > leftOut.size() && isWrongJava(more, isWrong)) {
            leftOut = more;
          }
        }
      }
    }
    return leftOut;
  }

  private static boolean isWrongJava(Set<Integer> leftOut, Predicate<Set<Integer>> isWrong) {
    try {
      return isWrong.test(leftOut);
    } catch (IllegalArgumentException noJava) {
      return false;
    }
  }
}
