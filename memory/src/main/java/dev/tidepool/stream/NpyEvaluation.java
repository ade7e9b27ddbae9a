package dev.tidepool.stream;

import dev.tidepool.KernelSource;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.stream.pipeline.Computation;
import dev.tidepool.stream.pipeline.Journal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/**
 * An expression over {@code .npy} files of any size, whose results appear as such files, whole or
 * not at all.
 *
 * <p>Inputs have one shape, which is the results'; nothing is broadcast but scalars. If all inputs
 * are in Fortran order, so are the results, and everything is streamed as it lies; if they
 * disagree, results are in C order and inputs in Fortran order are turned while they are read,
 * which is slower. Results have NumPy's type for the expression, unless one is asked for.
 *
 * <p>Opening checks everything that can be checked without an accelerator and begins the files of
 * the results beside their places; {@link #run} streams and puts them there; closing ends it, and
 * deletes results that did not become whole. {@link #cancel()} is for any thread, the rest for one.
 */
public final class NpyEvaluation implements AutoCloseable {
  private static final long CRITICAL_CALLS_FROM = 128L << 20;

  private final Request request;
  private final Expression expression;
  private final RunningPipeline running;
  private final PipelineRun run;
  private final ReducedResults reduced;
  private boolean done;

  /**
   * What is asked for.
   *
   * @param expression assignments of the elementwise language, or its reductions
   * @param inputs the files of names that are read
   * @param outputs the files of names that are assigned; assigned names without one are local
   *     values
   * @param scalars numbers and truth values of names that are read
   * @param type the type of all files of results, or null for NumPy's
   * @param overwrite whether files that exist are replaced
   * @param options how to stream
   * @param axis the axis along which reductions go, counted from the end if negative; their results
   *     are arrays then, and go to files. Null where a reduction makes one value of all elements
   * @param mask the name of an assignment of truth values, which select the elements that count:
   *     others take no part in reductions, and are left out of files, whose results have one
   *     dimension then. Empty if all elements count
   */
  public record Request(
      String expression,
      Map<String, Path> inputs,
      Map<String, Path> outputs,
      Map<String, ?> scalars,
      @Nullable NpyType type,
      boolean overwrite,
      StreamOptions options,
      @Nullable Integer axis,
      String mask) {
    /** Reduces to single values, and selects all elements. */
    public Request(
        String expression,
        Map<String, Path> inputs,
        Map<String, Path> outputs,
        Map<String, ?> scalars,
        @Nullable NpyType type,
        boolean overwrite,
        StreamOptions options) {
      this(expression, inputs, outputs, scalars, type, overwrite, options, null, "");
    }

    /** Copies the maps. */
    public Request {
      Objects.requireNonNull(mask, "mask");
      Objects.requireNonNull(expression, "expression");
      Objects.requireNonNull(options, "options");
      inputs = Collections.unmodifiableMap(new LinkedHashMap<>(inputs));
      outputs = Collections.unmodifiableMap(new LinkedHashMap<>(outputs));
      scalars = Collections.unmodifiableMap(new LinkedHashMap<>(scalars));
    }
  }

  private NpyEvaluation(
      Request request, Expression expression, RunningPipeline running, PipelineRun run) {
    this.request = request;
    this.expression = expression;
    this.running = running;
    this.run = run;
    NpyInputs inputs = run.inputs();
    if (!request.mask().isEmpty()) {
      inputs.inCOrder();
    }
    this.reduced =
        new ReducedResults(
            request, expression.reductions(), inputs.shape(), inputs.isFortranOrder());
  }

  /**
   * Opens the inputs, checks them and the expression, and begins the results.
   *
   * @throws dev.tidepool.KernelCompilationException if the expression does not parse, or does not
   *     fit what it is given
   * @throws IllegalArgumentException if there is no input or no output, shapes differ, a name is
   *     given but not used, an output is also an input or another output, or a type is asked for
   *     but no file
   * @throws NpyFormatException if an input is no file that is read
   * @throws dev.tidepool.TransferException if a file cannot be opened or begun
   */
  public static NpyEvaluation open(Request request) {
    return open(request, Expression.parseReducing(request.expression()), false);
  }

  /**
   * As {@link #open}, but what is written outlives a run that does not come to its end, however it
   * ends; and if an earlier run with the same expression, scalars, inputs (their sizes and times)
   * and results left something, it goes on from there. {@link #resumption()} tells which.
   *
   * <p>Beside each result lies a hidden partial file meanwhile, and beside the first one a journal,
   * for its owner only. They vanish when the results appear. Now and then all that was written is
   * forced to the disk, and then noted in the journal, so that even a power failure loses a few
   * seconds of work at most.
   *
   * @throws IllegalArgumentException also if there is a reduction, of which no file keeps a part,
   *     or {@link StreamOptions#deterministic()} is asked for with functions such as exp, whose
   *     last bits tell which accelerator began the work and which one went on
   * @throws dev.tidepool.TransferException also if another run is at the same results
   */
  public static NpyEvaluation resume(Request request) {
    Expression expression = Expression.parseReducing(request.expression());
    if (!expression.reductions().isEmpty()) {
      throw new IllegalArgumentException(
          "a reduction leaves nothing on disk to go on from; resume expressions whose results are"
              + " files");
    }
    if (!request.mask().isEmpty()) {
      throw new IllegalArgumentException(
          "where elements land depends on those before them, so a selection cannot be resumed");
    }
    NpyOutputs.checkSameBits(request.options(), expression.isExact());
    return open(request, expression, true);
  }

  private static NpyEvaluation open(Request request, Expression expression, boolean resuming) {
    checkPaths(request, expression.reductions());
    Computation computation =
        new Computation(
            List.of(KernelSource.elementwise(expression.source())),
            expression.reductions(),
            request.scalars());
    RunningPipeline running = new RunningPipeline();
    PipelineRun run = PipelineRun.open(computation, request.inputs(), running);
    try {
      NpyEvaluation evaluation = new NpyEvaluation(request, expression, running, run);
      evaluation.begin(resuming);
      return evaluation;
    } catch (RuntimeException | Error e) {
      try (run) {
        throw e;
      }
    }
  }

  private static void checkPaths(Request request, List<Reduction> reductions) {
    if (request.inputs().isEmpty()) {
      throw new IllegalArgumentException(
          "no name is given an array, so the results have no shape; give one a .npy file");
    }
    if (request.outputs().isEmpty() && reductions.isEmpty()) {
      throw new IllegalArgumentException("no result has a file; give an assigned name one");
    }
    if (request.axis() != null && reductions.isEmpty()) {
      throw new IllegalArgumentException(
          "an axis is given, but nothing is reduced; assign sum, mean, min or max of something");
    }
    for (Reduction reduction : reductions) {
      boolean file = request.outputs().containsKey(reduction.name());
      if (request.axis() != null && !file) {
        throw new IllegalArgumentException(
            "'"
                + reduction.name()
                + "' is an array, as it is reduced along an axis; give it a .npy file");
      }
      if (request.axis() == null && file) {
        throw new IllegalArgumentException(
            "'"
                + reduction.name()
                + "' is one value of all elements and goes to no file; name no file for it");
      }
    }
    NpyType type = request.type();
    if (type != null && request.outputs().isEmpty()) {
      throw new IllegalArgumentException(
          type.numpyName() + " is asked for, the type of files, but no result goes to one");
    }
    NpyOutputs.checkApart(request.inputs(), request.outputs(), false);
  }

  private void begin(boolean resuming) {
    Map<String, NpyOutputs.Target> targets =
        new EvaluationTargets(request, expression, run, reduced).targets();
    if (resuming) {
      run.resume(targets, List.of(new Journal.Trait("the expression", request.expression())));
    } else {
      run.begin(targets);
    }
    // Settings of reductions that are wrong are found now.
    reduced.begin(run.writers());
  }

  /** Returns what the results' files will say, by name. */
  public Map<String, NpyHeader> results() {
    Map<String, NpyHeader> results = new LinkedHashMap<>();
    run.writers().forEach((name, writer) -> results.put(name, writer.header()));
    return results;
  }

  /**
   * Returns what the reductions came to, by name, in the order of the expression: a Boolean, Long,
   * {@link java.math.BigInteger} (of unsigned sums and of uint64), Float or Double, as NumPy's type
   * of the result; of a histogram the counts, a {@code long[]}.
   *
   * <p>A value depends on the elements alone, to the last bit: not on chunks, threads or their
   * order. Sums of floats are accumulated pairwise in double.
   *
   * @throws IllegalStateException if {@link #run} has not completed
   */
  public Map<String, Object> values() {
    if (!done) {
      throw new IllegalStateException("values are known when all elements were read; run it first");
    }
    return reduced.values();
  }

  /** Elements of each array. */
  public long length() {
    return run.inputs().length();
  }

  /** Bytes of arrays that are read and written in all. */
  public long totalBytes() {
    long total = 0;
    for (NpyReader reader : run.inputs().readers().values()) {
      total += reader.header().dataBytes();
    }
    for (NpyWriter writer : run.writers().values()) {
      total += writer.header().dataBytes();
    }
    return total;
  }

  /**
   * From now on files are read straight into the arrays that the CPU computes on, and written from
   * them, by critical calls. That saves a third of the processors' time, but while a disk answers
   * no safepoint of the virtual machine is reached: no garbage is collected, and threads come to
   * wait. So it is for a process that does nothing else. Does nothing where such calls are not
   * safe, and for less than 128 MiB of files in all: linking the calls would cost more than they
   * save.
   *
   * @throws dev.tidepool.TransferException if a file cannot be opened again
   */
  public void allowCriticalCalls() {
    if (totalBytes() < CRITICAL_CALLS_FROM) {
      return;
    }
    run.inputs().allowCriticalCalls();
    run.writers().values().forEach(writer -> writer.file().allowCriticalCalls());
  }

  /**
   * Computes everything and puts the results in their places.
   *
   * @param memory of the accelerator that computes
   * @param further those of other accelerators, which take their part of the work
   * @throws IllegalArgumentException if the memory limit is too small; the message says what works
   * @throws CancellationException if it was cancelled
   * @throws TidepoolException if a file, the accelerator or its memory fails
   */
  public void run(UnifiedMemoryManager memory, UnifiedMemoryManager... further) {
    List<UnifiedMemoryManager> memories = new ArrayList<>(List.of(memory));
    memories.addAll(List.of(further));
    ChunkedPipeline.Builder builder = run.on(memories);
    run.inputs().sources().forEach(builder::source);
    reduced.begin(run.writers()).forEach(builder::sink);
    if (further.length > 0 && reduced.areOrdered()) {
      throw new IllegalArgumentException(
          "reductions along an axis and selections that go to files take elements in their order;"
              + " name one accelerator");
    }
    builder.listening(reduced::written);
    run.stream(builder, request.options());
    run.commit(reduced::finish);
    done = true;
  }

  /**
   * Describes how an earlier run ended, for people to read: this one goes on, or why it starts
   * again. Returns an empty text if there was none.
   */
  public String resumption() {
    return run.resumption();
  }

  /** Returns the accelerators that failed while others went on, by id, with what failed. */
  public Map<String, Throwable> dropped() {
    return running.dropped();
  }

  /** Stops a run before its next chunks; it throws then. Harmless when all is done. */
  public void cancel() {
    running.cancel();
  }

  /**
   * Closes the inputs and deletes results that did not become whole, unless it can be resumed;
   * idempotent.
   */
  @Override
  public void close() {
    run.close();
  }
}
