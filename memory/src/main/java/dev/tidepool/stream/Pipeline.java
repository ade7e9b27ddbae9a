package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.RawFile;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.expression.syntax.ExpressionException;
import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.stream.UserEndpoints.UserSink;
import dev.tidepool.stream.UserEndpoints.UserSource;
import dev.tidepool.stream.pipeline.BufferEndpoint;
import dev.tidepool.stream.pipeline.Computation;
import dev.tidepool.stream.pipeline.Sink;
import dev.tidepool.stream.pipeline.Source;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;

/**
 * Streams arrays of any size from files, buffers or a Java stream through kernels to files, buffers
 * or a consumer.
 *
 * {@snippet :
 * Pipeline.from("x", Path.of("x.npy"))
 *     .and("y", column)
 *     .through("d = x - a*y")
 *     .through("z = sqrt(d*d); total = sum(d)")
 *     .with("a", 2.5)
 *     .to("z", Path.of("z.npy"))
 *     .on(tidepool.memory())
 *     .run();
 * }
 *
 * <p>All arrays have the same length, and all files the same shape, which is also that of results.
 * Intermediate results between kernels stay on the accelerator, a chunk at a time. The elements of
 * a buffer are in the order of the files.
 *
 * <p>Not thread-safe, except for {@link #cancel()}. A pipeline can run any number of times, or once
 * if it reads a stream.
 */
public final class Pipeline {
  private final PipelineSources sources = new PipelineSources();
  private final List<KernelSource> kernels = new ArrayList<>();
  private final List<Reduction> reductions = new ArrayList<>();
  // The texts of expressions with reductions, by their texts without these.
  private final Map<String, String> written = new HashMap<>();
  private final Map<String, Object> scalars = new LinkedHashMap<>();
  private final PipelineSinks sinks = new PipelineSinks();
  private final List<UnifiedMemoryManager> memories = new ArrayList<>();
  private boolean resumable;
  private final RunningPipeline running = new RunningPipeline();

  /**
   * The outcome of a run.
   *
   * @param values the results of reductions, by name, as {@link NpyEvaluation#values()} returns
   *     them
   * @param dropped the accelerators that failed while others continued, by id, with their failures
   * @param resumption for a resumable pipeline, a text for users about an earlier run; empty if
   *     there was none
   */
  public record Outcome(
      Map<String, Object> values, Map<String, Throwable> dropped, String resumption) {
    /** Copies the maps. */
    public Outcome {
      values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
      dropped = Map.copyOf(dropped);
    }

    @Override
    public String toString() {
      Map<String, Object> shown = new LinkedHashMap<>(values);
      shown.replaceAll(
          (_, value) -> value instanceof long[] counts ? Arrays.toString(counts) : value);
      return "Outcome[values="
          + shown
          + ", dropped="
          + dropped.keySet()
          + ", resumption="
          + resumption
          + "]";
    }
  }

  private Pipeline() {}

  /** Returns a pipeline without sources. */
  static Pipeline empty() {
    return new Pipeline();
  }

  /** Returns a pipeline that reads a {@code .npy} file. */
  public static Pipeline from(String name, Path file) {
    return new Pipeline().and(name, file);
  }

  /** Returns a pipeline that reads a file that contains only elements. */
  public static Pipeline from(String name, RawFile<?> file) {
    return new Pipeline().and(name, file);
  }

  /** Returns a pipeline that reads a buffer of any accelerator. */
  public static Pipeline from(String name, UnifiedBuffer<?> buffer) {
    return new Pipeline().and(name, buffer);
  }

  /** Returns a pipeline that reads from a source. */
  public static Pipeline from(String name, ElementSource source) {
    return new Pipeline().and(name, source);
  }

  /**
   * Returns a pipeline that reads the arrays of a Java stream while it computes, so the stream may
   * be infinite. The stream is the only source. Results are passed to consumers, or to buffers and
   * sinks of one length, which must then be that of the stream. Results in files, and reductions,
   * need a stream {@linkplain #from(String, ElementType, Stream, long) of known length}.
   *
   * @param <A> the Java array that carries elements
   */
  public static <A> Pipeline from(String name, ElementType<A> type, Stream<? extends A> arrays) {
    return of(StreamedArrays.of(name, type, arrays, -1));
  }

  /**
   * Returns a pipeline that reads the arrays of a Java stream of known length. All kinds of results
   * are possible.
   *
   * @param length the number of elements of all arrays together. If the stream has more or fewer,
   *     the run throws {@link IllegalArgumentException}, and its files do not appear
   * @throws IllegalArgumentException if {@code length} is negative
   */
  public static <A> Pipeline from(
      String name, ElementType<A> type, Stream<? extends A> arrays, long length) {
    if (length < 0) {
      throw new IllegalArgumentException("a stream of " + length + " elements; give 0 or more");
    }
    return of(StreamedArrays.of(name, type, arrays, length));
  }

  private static Pipeline of(StreamedArrays<?> stream) {
    Pipeline pipeline = new Pipeline();
    pipeline.sources.only(stream);
    return pipeline;
  }

  /** Adds a {@code .npy} file to read. */
  public Pipeline and(String name, Path file) {
    sources.add(name, file);
    return this;
  }

  /** Adds a file to read that contains only elements. */
  public Pipeline and(String name, RawFile<?> file) {
    sources.add(name, file);
    return this;
  }

  /** Adds a buffer to read. */
  public Pipeline and(String name, UnifiedBuffer<?> buffer) {
    return and(name, new BufferEndpoint<>(buffer));
  }

  /** Adds a source. */
  public Pipeline and(String name, ElementSource source) {
    return and(name, new UserSource(source));
  }

  Pipeline and(String name, Source source) {
    sources.add(name, source);
    return this;
  }

  /** Sets a number or a boolean for a name. */
  public Pipeline with(String name, Object scalar) {
    scalars.put(Objects.requireNonNull(name, "name"), Objects.requireNonNull(scalar, "scalar"));
    return this;
  }

  /**
   * Adds a kernel, which runs after the previous kernels.
   *
   * @param expression assignments of the elementwise language, or reductions, whose {@link
   *     Outcome#values() values} the run returns
   * @throws dev.tidepool.KernelCompilationException if the expression is not valid
   */
  public Pipeline through(String expression) {
    Objects.requireNonNull(expression, "expression");
    Expression parsed = Expression.parseReducing(expression);
    reductions.addAll(parsed.reductions());
    if (!parsed.reductions().isEmpty()) {
      written.put(parsed.source(), expression);
    }
    return through(KernelSource.elementwise(parsed.source()));
  }

  /**
   * Adds kernels, which run in this order after the previous kernels, with one item for each
   * element.
   */
  public Pipeline through(KernelSource... next) {
    for (KernelSource kernel : next) {
      Objects.requireNonNull(kernel, "kernel");
    }
    kernels.addAll(List.of(next));
    return this;
  }

  /** Writes a name's results to a new {@code .npy} file, which appears completely or not at all. */
  public Pipeline to(String name, Path file) {
    sinks.add(name, file);
    return this;
  }

  /**
   * Writes a name's results to a new file that contains only elements, and appears completely or
   * not at all.
   */
  public Pipeline to(String name, RawFile<?> file) {
    sinks.add(name, file);
    return this;
  }

  /**
   * Writes a name's results to a buffer. This may be a buffer that is also read. A run rejects a
   * part of such a buffer at another offset.
   */
  public Pipeline to(String name, UnifiedBuffer<?> buffer) {
    return to(name, new BufferEndpoint<>(buffer));
  }

  /** Writes a name's results to a sink. */
  public Pipeline to(String name, ElementSink sink) {
    return to(name, new UserSink(sink));
  }

  Pipeline to(String name, Sink sink) {
    sinks.add(name, sink);
    return this;
  }

  /**
   * Passes a name's results to a consumer.
   *
   * @param <A> the Java array that carries elements
   */
  public <A> Pipeline to(String name, ElementType<A> type, ChunkConsumer<? super A> consumer) {
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(consumer, "consumer");
    sinks.add(name, length -> new ConsumerSink<>(type, length, consumer));
    return this;
  }

  /** Lets the file of a name's results replace an existing file. */
  void replacing(String name) {
    sinks.replacing(name);
  }

  /** Lets output files replace existing files. Otherwise an existing file is an error. */
  public Pipeline overwriting() {
    sinks.overwriting();
    return this;
  }

  /**
   * Keeps the partial files of a run that does not complete, and continues an earlier run of the
   * same pipeline, as {@link NpyEvaluation#resume} does. All sources and results must then be
   * {@code .npy} files, and no kernel may be Java code.
   */
  public Pipeline resumable() {
    resumable = true;
    return this;
  }

  /**
   * Adds the managers of accelerators that compute. Each computes a part according to its speed.
   */
  public Pipeline on(UnifiedMemoryManager... managers) {
    for (UnifiedMemoryManager manager : managers) {
      Objects.requireNonNull(manager, "manager");
    }
    memories.addAll(List.of(managers));
    return this;
  }

  /** Runs the pipeline with default options, as {@link #run(StreamOptions)} does. */
  public Outcome run() {
    return run(StreamOptions.defaults());
  }

  /**
   * Runs the pipeline, and waits until everything is written.
   *
   * @throws IllegalStateException if the pipeline reads a Java stream, and ran before, or if it
   *     runs already
   * @throws IllegalArgumentException if there is no kernel, no accelerator or no result, names,
   *     types or lengths do not match, results would overwrite each other or elements that are
   *     still to be read, or the memory limit is too small
   * @throws CancellationException if the pipeline was cancelled; files then do not appear, and the
   *     contents of result buffers are undefined
   * @throws dev.tidepool.KernelCompilationException if an expression reads a name without a source
   *     or value, or its results do not fit the type of their array
   * @throws TidepoolException if a file, an accelerator or its memory fails
   */
  public Outcome run(StreamOptions options) {
    PipelineRequest request =
        new PipelineRequest(
            sources, new Computation(kernels, reductions, scalars), sinks, memories, resumable);
    request.check(options);
    try {
      return PipelineExecution.run(request, running, options);
    } catch (ExpressionException e) {
      String expression = written.get(e.source());
      throw expression == null ? e : e.in(expression);
    }
  }

  /**
   * Cancels the pipeline: a run stops before its next chunks and throws, and later runs throw at
   * their start. Does nothing to a run that has ended. Any thread may call this.
   */
  public void cancel() {
    running.cancel();
  }

  @Override
  public String toString() {
    List<String> results = new ArrayList<>(sinks.names());
    reductions.forEach(reduction -> results.add(reduction.name()));
    return "Pipeline[from "
        + sources.names()
        + " through "
        + kernels.size()
        + (kernels.size() == 1 ? " kernel" : " kernels")
        + " to "
        + results
        + "]";
  }

  /**
   * Passes every chunk to a consumer, one at a time, in a new array.
   *
   * @param <A> the array that carries elements
   */
  private record ConsumerSink<A>(
      ElementType<A> elementType, long length, ChunkConsumer<? super A> consumer) implements Sink {
    @Override
    public void write(long elementOffset, MemorySegment source) {
      int count = Math.toIntExact(elementType.elements(source.byteSize()));
      A elements = elementType.newArray(count);
      elementType.read(source, 0, elements, 0, count);
      // No other code of the library takes the lock of the caller's object.
      synchronized (consumer) {
        consumer.accept(elementOffset, elements);
      }
    }
  }
}
