package dev.tidepool.stream;

import dev.tidepool.KernelSource;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.spi.support.VisibleText;
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
 * Evaluates an expression over {@code .npy} files of any size. The result files appear completely
 * or not at all.
 *
 * <p>All inputs and results have the same shape; only scalars are broadcast. If all inputs are in
 * Fortran order, so are the results, and the files are streamed in that order. If their orders
 * differ, results are in C order, and inputs in Fortran order are transposed while they are read,
 * which is slower. Results have NumPy's type for the expression, unless a type is requested.
 *
 * <p>Opening checks everything that can be checked without an accelerator, and creates partial
 * files of the results beside their targets. {@link #run} computes the results and renames the
 * files. Closing deletes incomplete results. Any thread may call {@link #cancel()}; only one thread
 * may use the other methods.
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
   * The request for an evaluation.
   *
   * @param expression assignments of the elementwise language, or its reductions
   * @param inputs the files of the names that are read
   * @param outputs the files of the names that are assigned; assigned names without a file are
   *     local values
   * @param scalars the numbers and booleans of names that are read
   * @param type the type of all result files; null for NumPy's type
   * @param overwrite whether existing files are replaced
   * @param options the options for streaming
   * @param axis the axis of reductions, counted from the end if negative; their results are then
   *     arrays, which are written to files. Null to reduce all elements to one value
   * @param mask the name of an assignment of booleans that select elements: the others are left out
   *     of reductions and of files, whose results then have one dimension. It goes to no file.
   *     Empty to select all elements
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
    /** Creates a request that reduces to single values and selects all elements. */
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
      Objects.requireNonNull(mask, "mask; an empty text selects all elements");
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
   * Opens the inputs, checks them and the expression, and creates partial files of the results.
   *
   * @throws dev.tidepool.KernelCompilationException if the expression does not parse, or does not
   *     match its inputs
   * @throws IllegalArgumentException if there is no input or no output, shapes differ, a given name
   *     is not used, an output is also an input or another output, or a type is requested but no
   *     file
   * @throws NpyFormatException if an input is not a supported {@code .npy} file
   * @throws dev.tidepool.TransferException if a file cannot be opened or created
   */
  public static NpyEvaluation open(Request request) {
    return open(request, Expression.parseReducing(request.expression()), false);
  }

  /**
   * Like {@link #open}, but keeps the partial files if the run does not complete for any reason. If
   * an earlier run with the same expression, scalars, inputs (their sizes and times) and results
   * left partial files, this one continues from there. {@link #resumption()} reports it.
   *
   * <p>During the run a hidden partial file is beside each result, and beside the first one a
   * journal, which only its owner can access. They are deleted when the results appear.
   * Periodically all written data are forced to the disk and then recorded in the journal, so that
   * even a power failure loses only a few seconds of work.
   *
   * @throws IllegalArgumentException also if there is a reduction, whose partial result is in no
   *     file, or a mask. Also if {@link StreamOptions#deterministic()} is set and the expression
   *     has functions such as exp, whose last bits depend on the accelerator
   * @throws dev.tidepool.TransferException also if another run writes the same results
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
    if (request.outputs().containsKey(request.mask())) {
      throw new IllegalArgumentException(
          "'" + request.mask() + "' is the mask and goes to no file; assign it to a second name");
    }
    for (Reduction reduction : reductions) {
      if (reduction.name().equals(request.mask())) {
        throw new IllegalArgumentException(
            "'" + reduction.name() + "' is one value of all elements and can be no mask");
      }
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
          "the type "
              + type.numpyName()
              + " is for results in files, but no result goes to one; leave it out, or name a .npy"
              + " file");
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
    // This detects invalid settings of reductions now.
    reduced.begin(run.writers());
  }

  /** Returns the headers of the result files, by name. */
  public Map<String, NpyHeader> results() {
    Map<String, NpyHeader> results = new LinkedHashMap<>();
    run.writers().forEach((name, writer) -> results.put(name, writer.header()));
    return results;
  }

  /**
   * Returns the results of reductions, by name, in the order of the expression. A value is a
   * Boolean, Long, {@link java.math.BigInteger} (for unsigned sums and uint64), Float or Double,
   * according to NumPy's type of the result; a histogram is a {@code long[]} of counts.
   *
   * <p>All bits of a value depend only on the elements, not on chunks, threads or their order. Sums
   * of floats are accumulated pairwise in double.
   *
   * @throws IllegalStateException if {@link #run} has not completed
   */
  public Map<String, Object> values() {
    if (!done) {
      throw new IllegalStateException("values are known when all elements were read; run it first");
    }
    return reduced.values();
  }

  /** Returns the number of elements of each array. */
  public long length() {
    return run.inputs().length();
  }

  /** Returns the bytes of the arrays that are read and written in total. */
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
   * Lets files be read directly into the arrays that the CPU computes on, and written from them, by
   * critical calls. This saves a third of the processors' time. But the virtual machine reaches no
   * safepoint while a disk works: no garbage is collected, and threads wait. So use it only in a
   * process that does nothing else. Does nothing if critical calls are not safe, or for less than
   * 128 MiB of files in total, because linking the calls would cost more than they save.
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
   * Computes the results and lets their files appear.
   *
   * @param memory the manager of the accelerator that computes
   * @param further the managers of other accelerators that compute a part
   * @throws IllegalArgumentException if the memory limit is too small; the message says what is
   *     sufficient
   * @throws CancellationException if the evaluation was cancelled
   * @throws TidepoolException if a file, the accelerator or its memory fails
   */
  public void run(UnifiedMemoryManager memory, UnifiedMemoryManager... further) {
    List<UnifiedMemoryManager> memories = new ArrayList<>(List.of(memory));
    memories.addAll(List.of(further));
    ChunkedPipeline.Builder builder = run.on(memories);
    run.inputs().sources().forEach(builder::source);
    reduced.begin(run.writers()).forEach(builder::sink);
    if (reduced.areOrdered()) {
      if (further.length > 0) {
        throw new IllegalArgumentException(
            "reductions along an axis and selections that go to files take elements in their"
                + " order; name one accelerator");
      }
      builder.ordered();
    }
    builder.listening(reduced::written);
    run.stream(builder, request.options());
    run.commit(reduced::finish);
    done = true;
  }

  /**
   * Returns a text for users that says whether this run continues an earlier one, or why it starts
   * again; empty if there was no earlier run.
   */
  public String resumption() {
    return run.resumption();
  }

  /** Returns the accelerators that failed while others continued, by id, with their failures. */
  public Map<String, Throwable> dropped() {
    return running.dropped();
  }

  /** Stops a run before its next chunks; the run then throws. Does nothing if the run has ended. */
  public void cancel() {
    running.cancel();
  }

  /**
   * Closes the inputs, and deletes incomplete results unless the evaluation can be resumed.
   * Idempotent.
   */
  @Override
  public void close() {
    run.close();
  }

  @Override
  public String toString() {
    return "NpyEvaluation[" + VisibleText.of(expression.shown()) + ", " + length() + " elements]";
  }
}
