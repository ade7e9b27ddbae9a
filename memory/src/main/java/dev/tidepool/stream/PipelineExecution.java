package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.stream.UserEndpoints.UserSink;
import dev.tidepool.stream.pipeline.Computation;
import dev.tidepool.stream.pipeline.KernelTraits;
import dev.tidepool.stream.pipeline.OverlapCheck;
import dev.tidepool.stream.pipeline.RangeSink;
import dev.tidepool.stream.pipeline.Sink;
import dev.tidepool.stream.pipeline.Source;
import dev.tidepool.stream.pipeline.StagePlan;
import dev.tidepool.stream.reduction.Reducer;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;

/**
 * Executes a {@link PipelineRequest} once: determines the types of the arrays, creates the files,
 * and streams the arrays through a {@link PipelineRun}.
 */
final class PipelineExecution {
  /** The bytes of a stream's arrays that are gathered before they are computed. */
  private static final long GATHERED_BYTES = 64L << 20;

  private final PipelineRequest request;
  private final Computation computation;
  private final PipelineRun run;
  private final RawFiles raws;
  private final StreamOptions options;

  private PipelineExecution(
      PipelineRequest request, PipelineRun run, RawFiles raws, StreamOptions options) {
    this.request = request;
    this.computation = request.computation();
    this.run = run;
    this.raws = raws;
    this.options = options;
  }

  /**
   * Opens what the request reads, computes, and puts the files in their places.
   *
   * @param running lets other threads cancel the run
   */
  static Pipeline.Outcome run(
      PipelineRequest request, RunningPipeline running, StreamOptions options) {
    PipelineSources sources = request.sources();
    try (RawFiles raws = RawFiles.open(sources.raws());
        PipelineRun run = PipelineRun.open(request.computation(), sources.files(), running)) {
      return new PipelineExecution(request, run, raws, options).run();
    }
  }

  private Pipeline.Outcome run() {
    Map<String, Source> read = request.sources().opened(run.inputs(), raws);
    StreamedArrays<?> arrays = request.sources().stream();
    if (arrays != null) {
      request.sinks().fit(arrays, !computation.reductions().isEmpty());
    }
    long length = arrays == null ? read.values().iterator().next().length() : arrays.room();
    Map<String, Sink> taken = request.sinks().besidesFiles(length);
    Map<String, ElementType<?>> types = types(read, taken);
    Map<String, Reducer> reducers = new LinkedHashMap<>();
    for (Reduction reduction : computation.reductions()) {
      ElementType<?> type = StagePlan.made(types, reduction.name());
      Reducer reducer = Reducer.of(reduction, ScalarType.of(type), length, computation.scalars());
      reducers.put(reduction.name(), reducer);
      taken.put(reduction.name(), new RangeSink(type, length, reducer));
    }
    OverlapCheck.check(read, taken);
    if (arrays != null) {
      arrays.begin();
    }
    taken.putAll(createFiles(types, length));
    Map<String, Throwable> dropped =
        arrays == null ? stream(read, taken, options) : streamWindows(arrays, taken);
    run.commit(raws::prepare);
    raws.commit();
    return new Pipeline.Outcome(Reducer.values(reducers), dropped, run.resumption());
  }

  /** Returns the types of all arrays, results that go to files included. */
  private Map<String, ElementType<?>> types(Map<String, Source> read, Map<String, Sink> taken) {
    Map<String, ElementType<?>> known = new LinkedHashMap<>();
    read.forEach((name, source) -> known.put(name, source.elementType()));
    taken.forEach((name, sink) -> known.put(name, sink.elementType()));
    request.sinks().raws().forEach((name, file) -> known.put(name, file.type()));
    Set<String> wanted = new LinkedHashSet<>(request.sinks().names());
    computation.reductions().forEach(reduction -> wanted.add(reduction.name()));
    StagePlan plan =
        StagePlan.of(
            computation.kernels(), known, computation.scalars(), wanted, request.sources().paths());
    // Checked before a file is created, which would delete the files of an earlier run.
    StagePlan.checkUse(
        computation.kernels(), read.keySet(), computation.kernelScalars().keySet(), wanted);
    return plan.arrays();
  }

  private Map<String, Sink> createFiles(Map<String, ElementType<?>> types, long length) {
    Map<String, NpyOutputs.Target> targets = request.sinks().targets(types, run.inputs(), length);
    if (request.resumable()) {
      int inputs = run.inputs().readers().size();
      run.resume(targets, KernelTraits.of(computation.kernels(), inputs));
    } else {
      run.begin(targets);
    }
    raws.begin(request.sinks().raws(), length, request.sinks()::replaces);
    Map<String, Sink> files = new LinkedHashMap<>();
    run.writers().forEach((name, writer) -> files.put(name, new UserSink(writer)));
    files.putAll(raws.writers());
    return files;
  }

  private Map<String, Throwable> streamWindows(StreamedArrays<?> arrays, Map<String, Sink> taken) {
    // The stream may be empty, and then nothing runs.
    run.checkNotCancelled();
    Map<String, Throwable> dropped = new LinkedHashMap<>();
    while (arrays.next(Math.min(GATHERED_BYTES, options.memoryLimit()))) {
      try {
        dropped.putAll(
            stream(
                Map.of(arrays.name(), arrays.window()),
                arrays.windowsOf(taken),
                options.withProgress(arrays.told(options.progress()))));
      } catch (CancellationException e) {
        throw arrays.cancelled(e);
      }
    }
    return dropped;
  }

  private Map<String, Throwable> stream(
      Map<String, Source> read, Map<String, Sink> taken, StreamOptions streaming) {
    ChunkedPipeline.Builder builder = run.on(request.memories());
    read.forEach(builder::source);
    taken.forEach(builder::sink);
    return run.stream(builder, streaming);
  }
}
