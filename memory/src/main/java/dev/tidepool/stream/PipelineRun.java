package dev.tidepool.stream;

import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.stream.pipeline.Computation;
import dev.tidepool.stream.pipeline.Journal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * One run of a {@link Pipeline} or an {@link NpyEvaluation}: the {@code .npy} files that it reads
 * and writes, and the chunks between them.
 *
 * <p>Inputs are opened first, as their headers decide what the outputs are. {@link #begin} or
 * {@link #resume} then creates the outputs beside their places. {@link #stream} computes, all at
 * once or part by part, and {@link #commit} puts the outputs in their places. {@link #close}
 * deletes outputs that are not in their places, unless {@link #resume} created them.
 *
 * <p>Not thread-safe; other threads cancel the {@link RunningPipeline}.
 */
final class PipelineRun implements AutoCloseable {
  private final Computation computation;
  private final NpyInputs inputs;
  private final RunningPipeline running;
  private NpyOutputs outputs = NpyOutputs.begin(Map.of());

  private PipelineRun(Computation computation, NpyInputs inputs, RunningPipeline running) {
    this.computation = computation;
    this.inputs = inputs;
    this.running = running;
  }

  /**
   * Opens the files that are read, if any.
   *
   * @throws IllegalArgumentException if shapes differ
   * @throws NpyFormatException if one is not a supported {@code .npy} file
   * @throws dev.tidepool.TransferException if one cannot be opened
   */
  static PipelineRun open(
      Computation computation, Map<String, Path> inputs, RunningPipeline running) {
    return new PipelineRun(computation, NpyInputs.open(inputs), running);
  }

  /** Returns what is computed. */
  Computation computation() {
    return computation;
  }

  /** Returns the files that are read. */
  NpyInputs inputs() {
    return inputs;
  }

  /**
   * Creates the files that are written, if any.
   *
   * @throws dev.tidepool.TransferException as {@link NpyWriter#create} does
   */
  void begin(Map<String, NpyOutputs.Target> targets) {
    outputs = NpyOutputs.begin(targets);
  }

  /**
   * Reopens the files that an earlier run of the same work left, or else creates them.
   *
   * @param targets at least one
   * @param kernels traits that show whether the kernels are those of the earlier run
   * @throws dev.tidepool.TransferException as {@link NpyWriter#create} does, or if another run is
   *     at the same work
   */
  void resume(Map<String, NpyOutputs.Target> targets, List<Journal.Trait> kernels) {
    List<Journal.Trait> work = new ArrayList<>(inputs.traits());
    work.addAll(kernels);
    computation.scalars().forEach((name, value) -> work.add(Journal.Trait.scalar(name, value)));
    outputs = NpyOutputs.resume(targets, work);
  }

  /** Returns the files that are written, by name; none before the run was begun. */
  Map<String, NpyWriter> writers() {
    return outputs.writers();
  }

  /** Returns a text for users about an earlier run; empty if there was none. */
  String resumption() {
    return outputs.resumption();
  }

  /**
   * Returns a builder of the kernels' pipeline on at least one accelerator, still without arrays.
   */
  ChunkedPipeline.Builder on(List<UnifiedMemoryManager> memories) {
    List<KernelSource> kernels = computation.kernels();
    UnifiedMemoryManager first = memories.getFirst();
    ChunkedPipeline.Builder builder = ChunkedPipeline.of(first, first.compile(kernels.getFirst()));
    for (KernelSource further : kernels.subList(1, kernels.size())) {
      builder.then(further);
    }
    for (UnifiedMemoryManager further : memories.subList(1, memories.size())) {
      builder.on(further);
    }
    return builder;
  }

  /**
   * Streams the elements that are not written yet. Returns when all are written.
   *
   * @param builder a pipeline of {@link #on} with its sources and sinks
   * @return the accelerators that failed while others continued, by id, with their failures
   * @throws IllegalArgumentException if the arrays, the scalars or the options do not fit; the
   *     message says what works
   * @throws java.util.concurrent.CancellationException if it was cancelled
   */
  Map<String, Throwable> stream(ChunkedPipeline.Builder builder, StreamOptions options) {
    builder.resuming(outputs.left(builder.length()));
    builder.listening(outputs::written);
    computation.kernelScalars().forEach(builder::scalar);
    running.run(builder.build(inputs.fitting(options)));
    return running.dropped();
  }

  /**
   * Does nothing, unless the pipeline was cancelled.
   *
   * @throws java.util.concurrent.CancellationException if it was
   */
  void checkNotCancelled() {
    running.checkNotCancelled();
  }

  /**
   * Checks what was read and puts all files in their places, or none if one cannot be put there.
   *
   * @param completing completes the other results of the run, before the first file appears
   * @throws dev.tidepool.TransferException if the checksum of an input is wrong, or a file cannot
   *     be put in its place
   */
  void commit(Runnable completing) {
    inputs.verify();
    completing.run();
    outputs.commit();
  }

  @Override
  public void close() {
    NpyInputs.closeAll(List.of(outputs, inputs));
  }
}
