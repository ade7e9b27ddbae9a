package dev.tidepool.stream.pipeline;

import dev.tidepool.KernelSource;
import dev.tidepool.expression.syntax.Reduction;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The computation of a run.
 *
 * @param kernels at least one; each reads results of those before it
 * @param reductions the reductions of arrays that kernels write
 * @param scalars the values of names in kernels and in the settings of reductions
 */
public record Computation(
    List<KernelSource> kernels, List<Reduction> reductions, Map<String, ?> scalars) {
  /** Returns the scalars that kernels take: all but those that only reductions name. */
  public Map<String, Object> kernelScalars() {
    Map<String, Object> taken = new LinkedHashMap<>(scalars);
    if (reductions.isEmpty() || scalars.isEmpty()) {
      return taken;
    }
    Set<String> names = new HashSet<>();
    for (KernelSource kernel : kernels) {
      names.addAll(StagePlan.names(kernel));
    }
    for (Reduction reduction : reductions) {
      taken.keySet().removeIf(name -> reduction.scalars().contains(name) && !names.contains(name));
    }
    return taken;
  }
}
