package dev.tidepool.stream;

import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.stream.pipeline.Computation;
import dev.tidepool.stream.pipeline.StagePlan;
import java.util.List;

/**
 * The request of a {@link Pipeline}.
 *
 * @param memories the managers of the accelerators that compute
 * @param resumable whether output files are kept if the run does not complete
 */
record PipelineRequest(
    PipelineSources sources,
    Computation computation,
    PipelineSinks sinks,
    List<UnifiedMemoryManager> memories,
    boolean resumable) {
  /**
   * Checks what can be checked before a file is opened.
   *
   * @throws IllegalArgumentException if a part is missing, or two parts exclude each other
   */
  void check(StreamOptions options) {
    checkComplete();
    sinks.checkMade(computation.kernels());
    if (resumable) {
      checkResumable();
    }
    NpyOutputs.checkApart(sources.paths(), sinks.paths(), !resumable);
    computation.reductions().forEach(this::checkReduction);
    if (resumable) {
      NpyOutputs.checkSameBits(
          options, computation.kernels().stream().allMatch(ChunkedPipeline::isExact));
    }
  }

  private void checkComplete() {
    if (computation.kernels().isEmpty()) {
      throw new IllegalArgumentException("a pipeline without a kernel; add one with through");
    }
    if (sources.isEmpty()) {
      throw new IllegalArgumentException(
          "a pipeline that reads nothing has no length; add a source");
    }
    if (memories.isEmpty()) {
      throw new IllegalArgumentException(
          "a pipeline without an accelerator; add one with on(memory)");
    }
    if (sinks.names().isEmpty() && computation.reductions().isEmpty()) {
      throw new IllegalArgumentException("a pipeline without a result; add one with to");
    }
  }

  private void checkReduction(Reduction reduction) {
    if (sinks.names().contains(reduction.name())) {
      throw new IllegalArgumentException(
          "'" + reduction.name() + "' is one value of all elements; take it from the outcome");
    }
    if (computation.kernels().stream()
            .filter(kernel -> StagePlan.names(kernel).contains(reduction.name()))
            .count()
        > 1) {
      throw new IllegalArgumentException(
          "'"
              + reduction.name()
              + "' is known when all elements were read: no other kernel can use it");
    }
  }

  /** Checks that a later run could continue. */
  private void checkResumable() {
    sources.checkResumable();
    sinks.checkResumable();
    if (!computation.reductions().isEmpty()) {
      String name = computation.reductions().getFirst().name();
      throw notResumable("'" + name + "' is a value of all elements");
    }
    if (computation.kernels().stream().anyMatch(KernelSource.Java.class::isInstance)) {
      throw notResumable(
          "one of its kernels is Java code, which cannot be compared with an earlier run's");
    }
  }

  static IllegalArgumentException notResumable(String reason) {
    return new IllegalArgumentException(
        "the pipeline cannot be resumed: " + reason + "; change that, or leave out resumable()");
  }
}
