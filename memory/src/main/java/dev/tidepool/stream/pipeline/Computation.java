package dev.tidepool.stream.pipeline;

import dev.tidepool.KernelSource;
import dev.tidepool.expression.syntax.Reduction;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a run computes of each element.
 *
 * @param kernels at least one; each reads what those before it have made
 * @param reductions of names that kernels make
 * @param scalars values by name, of kernels and of the settings of reductions
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
