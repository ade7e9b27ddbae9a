package dev.tidepool.stream;

import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.RawFile;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.types.Expression;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;

/**
 * Arrays of any size, from files, buffers or a stream, through kernels, to files, buffers or a
 * consumer:
 *
 * {@snippet :
 * Pipeline.from("x", Path.of("x.npy"))
 *     .and("y", column)
 *     .through("d = x - a*y")
 *     .through("z = sqrt(d*d); total = sum(d)")
 *     .with("a", 2.5)
 *     .to("z", Path.of("z.npy"))
 *     .on(tidepool.memory())
 *     .run(StreamOptions.defaults());
 * }
 *
 * <p>All arrays have one length, and files one shape, which is that of results. What one kernel
 * writes and a later one reads stays on the accelerator, a chunk at a time. Elements of a buffer
 * are taken in the order of the files.
 *
 * <p>Not thread-safe, except for {@link #cancel()}. A pipeline runs as often as it is asked to,
 * unless it reads a stream.
 */
public final class Pipeline {
  private final PipelineSources sources = new PipelineSources();
  private final List<KernelSource> kernels = new ArrayList<>();
  private final List<Reduction> reductions = new ArrayList<>();
  private final Map<String, Object> scalars = new LinkedHashMap<>();
  private final PipelineSinks sinks = new PipelineSinks();
  private final List<UnifiedMemoryManager> memories = new ArrayList<>();
  private boolean resumable;
  private final RunningPipeline running = new RunningPipeline();

  /**
   * What came of a run.
   *
   * @param values those of reductions, by name, as {@link NpyEvaluation#values()} has them
   * @param dropped the accelerators that failed while others went on, by id, with what failed
   * @param resumption of a resumable pipeline what came of an earlier run, for people to read;
   *     empty if there was none
   */
  public record Outcome(
      Map<String, Object> values, Map<String, Throwable> dropped, String resumption) {
    /** Copies the maps. */
    public Outcome {
      values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
      dropped = Map.copyOf(dropped);
    }
  }

  private Pipeline() {}

  /** A pipeline whose sources are still to be named. */
  static Pipeline empty() {
    return new Pipeline();
  }

  /** Returns a pipeline that reads a {@code .npy} file. */
  public static Pipeline from(String name, Path file) {
    return new Pipeline().and(name, file);
  }

  /** Returns a pipeline that reads a file of elements and nothing else. */
  public static Pipeline from(String name, RawFile<?> file) {
    return new Pipeline().and(name, file);
  }

  /** Returns a pipeline that reads a buffer, of any accelerator. */
  public static Pipeline from(String name, UnifiedBuffer<?> buffer) {
    return new Pipeline().and(name, buffer);
  }

  /** Returns a pipeline that reads from a source. */
  public static Pipeline from(String name, ElementSource source) {
    return new Pipeline().and(name, source);
  }

  /**
   * Returns a pipeline over the arrays of a stream, which is read as it is computed: it may be
   * endless. It is the only source. Results go to consumers, or to buffers and sinks of one length,
   * which the stream must have then. Results in files, and reductions, need a stream whose length
   * is {@link #from(String, ElementType, Stream, long) told}.
   *
   * @param <A> the array that carries elements
   */
  public static <A> Pipeline from(String name, ElementType<A> type, Stream<? extends A> arrays) {
    return of(new StreamedArrays<>(name, type, arrays.iterator(), -1));
  }

  /**
   * Like the method above, but over a stream whose length is known: results go wherever those of
   * other sources do.
   *
   * @param length elements of all arrays together; a stream that has more or fewer is an {@link
   *     IllegalArgumentException} of the run, whose files do not appear then
   * @throws IllegalArgumentException if it is negative
   */
  public static <A> Pipeline from(
      String name, ElementType<A> type, Stream<? extends A> arrays, long length) {
    if (length < 0) {
      throw new IllegalArgumentException("a stream of " + length + " elements; give 0 or more");
    }
    return of(new StreamedArrays<>(name, type, arrays.iterator(), length));
  }

  private static Pipeline of(StreamedArrays<?> stream) {
    Pipeline pipeline = new Pipeline();
    pipeline.sources.only(stream);
    return pipeline;
  }

  /** Adds a further file that is read. */
  public Pipeline and(String name, Path file) {
    sources.add(name, file);
    return this;
  }

  /** Adds a further file of elements and nothing else that is read. */
  public Pipeline and(String name, RawFile<?> file) {
    sources.add(name, file);
    return this;
  }

  /** Adds a further buffer that is read. */
  public Pipeline and(String name, UnifiedBuffer<?> buffer) {
    return and(name, new BufferEndpoint<>(buffer));
  }

  /** Adds a further source. */
  public Pipeline and(String name, ElementSource source) {
    sources.add(name, source);
    return this;
  }

  /** Gives a name a number or a truth value. */
  public Pipeline with(String name, Object scalar) {
    scalars.put(name, Objects.requireNonNull(scalar, "scalar"));
    return this;
  }

  /**
   * Adds a kernel, run after those before it.
   *
   * @param expression assignments of the elementwise language, or reductions, whose {@link
   *     Outcome#values() values} are told at the end
   * @throws dev.tidepool.KernelCompilationException if it is no such thing
   */
  public Pipeline through(String expression) {
    Expression parsed = Expression.parseReducing(expression);
    reductions.addAll(parsed.reductions());
    return through(KernelSource.elementwise(parsed.source()));
  }

  /** Adds kernels, run in this order after those before them, one item for each element. */
  public Pipeline through(KernelSource... next) {
    kernels.addAll(List.of(next));
    return this;
  }

  /** Writes a name's results to a new {@code .npy} file, which appears whole or not at all. */
  public Pipeline to(String name, Path file) {
    sinks.add(name, file);
    return this;
  }

  /**
   * Writes a name's results to a new file of elements and nothing else, which appears whole or not
   * at all.
   */
  public Pipeline to(String name, RawFile<?> file) {
    sinks.add(name, file);
    return this;
  }

  /**
   * Writes a name's results to a buffer. It may be one that is read, which is updated then; but a
   * part of that at another offset is refused by the run.
   */
  public Pipeline to(String name, UnifiedBuffer<?> buffer) {
    return to(name, new BufferEndpoint<>(buffer));
  }

  /** Writes a name's results to a sink. */
  public Pipeline to(String name, ElementSink sink) {
    sinks.add(name, sink);
    return this;
  }

  /**
   * Hands a name's results to a consumer.
   *
   * @param <A> the array that carries elements
   */
  public <A> Pipeline to(String name, ElementType<A> type, ChunkConsumer<? super A> consumer) {
    sinks.add(name, length -> new ConsumerSink<>(type, length, consumer));
    return this;
  }

  /** Lets the file of a name's results replace the one that exists. */
  void replacing(String name) {
    sinks.replacing(name);
  }

  /** Lets output files replace files that exist, which they otherwise must not. */
  public Pipeline overwriting() {
    sinks.overwriting();
    return this;
  }

  /**
   * Lets output files outlive a run that does not come to its end, and lets this one go on where an
   * earlier one of the same work ended, as {@link NpyEvaluation#resume} does. Everything is read
   * from {@code .npy} files and written to such files then, and no kernel is Java code.
   */
  public Pipeline resumable() {
    resumable = true;
    return this;
  }

  /** Adds the accelerators that compute, by their managers; they share the work by their speed. */
  public Pipeline on(UnifiedMemoryManager... managers) {
    memories.addAll(List.of(managers));
    return this;
  }

  /**
   * Streams everything; returns when all was written.
   *
   * @throws IllegalStateException if it reads a stream, and an earlier run did
   * @throws IllegalArgumentException if there is no kernel, no accelerator or no result, names,
   *     types or lengths do not fit, results would be written over each other or over what is still
   *     to be read, or the memory limit is too small
   * @throws CancellationException if it was cancelled; files do not appear then, and what buffers
   *     hold is undefined
   * @throws dev.tidepool.KernelCompilationException if an expression reads a name that is given
   *     nowhere, or its results do not fit the type of their array
   * @throws TidepoolException if a file, the accelerators or their memory fails
   */
  public Outcome run(StreamOptions options) {
    PipelineRequest request =
        new PipelineRequest(
            sources, new Computation(kernels, reductions, scalars), sinks, memories, resumable);
    request.check(options);
    return PipelineExecution.run(request, running, options);
  }

  /**
   * Stops a run before its next chunks, and every later one at its beginning; they throw. Harmless
   * when all is done. From any thread.
   */
  public void cancel() {
    running.cancel();
  }
}
