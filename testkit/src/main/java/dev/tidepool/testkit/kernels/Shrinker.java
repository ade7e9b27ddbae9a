package dev.tidepool.testkit.kernels;

import dev.tidepool.UnifiedMemoryManager;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Makes a kernel that is wrong smaller, as long as it stays wrong. */
public final class Shrinker {
  private static final long MOST_NANOS = 60_000_000_000L;

  private Shrinker() {}

  /**
   * The source of the smallest class found in about a minute whose kernel is still wrong.
   *
   * @param seed of a kernel that is wrong when it is run alone
   */
  public static String shrunk(long seed, UnifiedMemoryManager memory) {
    long end = System.nanoTime() + MOST_NANOS;
    Kinds kinds = Kinds.of(memory.accelerator());
    Set<Integer> leftOut = new HashSet<>();
    int parts = KernelBody.of(seed, leftOut, kinds).parts();
    // Two rounds: a declaration can go when the last use has gone.
    for (int round = 0; round < 2; round++) {
      for (int piece = Math.max(1, parts / 4); piece > 0; piece /= 2) {
        for (int from = 0; from < parts && System.nanoTime() - end < 0; from += piece) {
          Set<Integer> more = new HashSet<>(leftOut);
          for (int part = from; part < Math.min(parts, from + piece); part++) {
            more.add(part);
          }
          if (more.size() > leftOut.size() && isWrong(KernelBody.of(seed, more, kinds), memory)) {
            leftOut = more;
          }
        }
      }
    }
    return KernelClass.source(List.of(KernelBody.of(seed, leftOut, kinds)));
  }

  private static boolean isWrong(KernelBody body, UnifiedMemoryManager memory) {
    try {
      return !KernelBatch.of(body).run(memory, false).isEmpty();
    } catch (IllegalArgumentException noJava) {
      return false;
    }
  }
}
