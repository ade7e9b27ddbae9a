package dev.tidepool.stream;

import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.expression.Expression;
import dev.tidepool.expression.Operand;
import dev.tidepool.expression.ScalarType;
import dev.tidepool.expression.TypedProgram;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicReference;
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
  private static final long TRANSPOSING_CHUNK_BYTES = 16L << 20;

  private final Request request;
  private final Map<String, NpyReader> readers = new LinkedHashMap<>();
  private final Map<String, NpyWriter> writers = new LinkedHashMap<>();
  private final AtomicReference<@Nullable ChunkedPipeline> running = new AtomicReference<>();
  private volatile boolean cancelled;
  private boolean anyTransposed;

  /**
   * What is asked for.
   *
   * @param expression assignments of the elementwise language
   * @param inputs the files of names that are read
   * @param outputs the files of names that are assigned; assigned names without one are local
   *     values
   * @param scalars numbers and truth values of names that are read
   * @param type the type of all results, or null for NumPy's
   * @param overwrite whether files that exist are replaced
   * @param options how to stream
   */
  public record Request(
      Expression expression,
      Map<String, Path> inputs,
      Map<String, Path> outputs,
      Map<String, ?> scalars,
      @Nullable NpyType type,
      boolean overwrite,
      StreamOptions options) {
    /** Copies the maps. */
    public Request {
      Objects.requireNonNull(expression, "expression");
      Objects.requireNonNull(options, "options");
      inputs = Collections.unmodifiableMap(new LinkedHashMap<>(inputs));
      outputs = Collections.unmodifiableMap(new LinkedHashMap<>(outputs));
      scalars = Collections.unmodifiableMap(new LinkedHashMap<>(scalars));
    }
  }

  private NpyEvaluation(Request request) {
    this.request = request;
  }

  /**
   * Opens the inputs, checks them and the expression, and begins the results.
   *
   * @throws dev.tidepool.expression.ExpressionException if the expression does not fit what it is
   *     given
   * @throws IllegalArgumentException if there is no input or no output, shapes differ, a name is
   *     given but not used, or an output is also an input or another output
   * @throws NpyFormatException if an input is no file that is read
   * @throws dev.tidepool.TransferException if a file cannot be opened or begun
   */
  public static NpyEvaluation open(Request request) {
    NpyEvaluation evaluation = new NpyEvaluation(request);
    try {
      evaluation.checkPaths();
      evaluation.openInputs();
      evaluation.beginOutputs();
      return evaluation;
    } catch (RuntimeException | Error e) {
      evaluation.closeAfter(e);
      throw e;
    }
  }

  private void checkPaths() {
    if (request.inputs().isEmpty()) {
      throw new IllegalArgumentException(
          "no name is given an array, so the results have no shape; give one a .npy file");
    }
    if (request.outputs().isEmpty()) {
      throw new IllegalArgumentException("no result has a file; give an assigned name one");
    }
    Map<String, Path> checked = new LinkedHashMap<>(request.inputs());
    for (Map.Entry<String, Path> output : request.outputs().entrySet()) {
      for (Map.Entry<String, Path> other : checked.entrySet()) {
        if (isSame(output.getValue(), other.getValue())) {
          throw new IllegalArgumentException(
              output.getValue()
                  + " is the output '"
                  + output.getKey()
                  + "' and also '"
                  + other.getKey()
                  + "'; name another file for one of them");
        }
      }
      checked.put(output.getKey(), output.getValue());
    }
  }

  private static boolean isSame(Path a, Path b) {
    if (a.toAbsolutePath().normalize().equals(b.toAbsolutePath().normalize())) {
      return true;
    }
    try {
      return Files.exists(a) && Files.exists(b) && Files.isSameFile(a, b);
    } catch (IOException _) {
      return false; // What cannot be looked at cannot be opened either, and that error is clearer.
    }
  }

  private void openInputs() {
    NpyReader first = null;
    for (Map.Entry<String, Path> input : request.inputs().entrySet()) {
      NpyReader reader = NpyReader.open(input.getValue());
      readers.put(input.getKey(), reader);
      if (first == null) {
        first = reader;
      } else if (!first.header().shape().equals(reader.header().shape())) {
        throw new IllegalArgumentException(
            "shapes differ: "
                + first.path()
                + " is "
                + first.header().shapeText()
                + ", "
                + reader.path()
                + " is "
                + reader.header().shapeText()
                + "; all inputs must have one shape");
      }
    }
  }

  private void beginOutputs() {
    boolean anyFortran = false;
    boolean anyC = false;
    List<Long> shape = List.of();
    for (NpyReader reader : readers.values()) {
      shape = reader.header().shape();
      if (!NpyHeader.isBothOrders(shape)) {
        anyFortran |= reader.header().fortranOrder();
        anyC |= !reader.header().fortranOrder();
      }
    }
    anyTransposed = anyFortran && anyC;
    for (TypedProgram.ArrayParameter array : resolve().arrays()) {
      Path target = request.outputs().get(array.name());
      if (target != null) {
        NpyType type = NpyType.valueOf(array.type().name());
        NpyHeader header = NpyHeader.of(type, anyFortran && !anyC, shape);
        writers.put(array.name(), NpyWriter.create(target, header, request.overwrite()));
      }
    }
  }

  private TypedProgram resolve() {
    Map<String, Operand> operands = new LinkedHashMap<>();
    request.scalars().forEach((name, value) -> operands.put(name, Operand.scalar(value)));
    readers.forEach(
        (name, reader) -> operands.put(name, Operand.array(scalarType(reader.header().type()))));
    for (String name : request.outputs().keySet()) {
      NpyType type = request.type();
      operands.put(name, type == null ? Operand.output() : Operand.array(scalarType(type)));
    }
    TypedProgram program = request.expression().resolve(operands);
    // Scalars that do not fit are found before any file is begun.
    program.uniformValues(request.scalars());
    return program;
  }

  private static ScalarType scalarType(NpyType type) {
    return ScalarType.valueOf(type.name());
  }

  /** What the results' files will say, by name. */
  public Map<String, NpyHeader> results() {
    Map<String, NpyHeader> results = new LinkedHashMap<>();
    writers.forEach((name, writer) -> results.put(name, writer.header()));
    return results;
  }

  /** Bytes of arrays that are read and written in all. */
  public long totalBytes() {
    long total = 0;
    for (NpyReader reader : readers.values()) {
      total += reader.header().dataBytes();
    }
    for (NpyWriter writer : writers.values()) {
      total += writer.header().dataBytes();
    }
    return total;
  }

  /**
   * Computes everything and puts the results in their places.
   *
   * @throws IllegalArgumentException if the memory limit is too small; the message says what works
   * @throws CancellationException if it was cancelled
   * @throws TidepoolException if a file, the accelerator or its memory fails
   */
  public void run(UnifiedMemoryManager memory) {
    Kernel kernel = memory.compile(KernelSource.elementwise(request.expression().source()));
    ChunkedPipeline.Builder builder = ChunkedPipeline.of(memory, kernel);
    for (Map.Entry<String, NpyReader> reader : readers.entrySet()) {
      builder.source(reader.getKey(), source(reader.getValue()));
    }
    writers.forEach(builder::sink);
    request.scalars().forEach(builder::scalar);
    StreamOptions options = request.options();
    if (anyTransposed && options.chunkBytes() == 0) {
      options = options.withChunkBytes(TRANSPOSING_CHUNK_BYTES);
    }
    ChunkedPipeline pipeline = builder.build(options);
    running.set(pipeline);
    if (cancelled) {
      pipeline.cancel();
    }
    pipeline.run();
    writers.values().forEach(NpyWriter::commit);
  }

  private ElementSource source(NpyReader reader) {
    boolean turned =
        anyTransposed && reader.header().fortranOrder() && reader.header().elementCount() > 0;
    return turned ? new TransposedSource(reader) : reader;
  }

  /** Stops a run before its next chunks; it throws then. Harmless when all is done. */
  public void cancel() {
    cancelled = true;
    ChunkedPipeline pipeline = running.get();
    if (pipeline != null) {
      pipeline.cancel();
    }
  }

  /** Closes the inputs and deletes results that did not become whole; idempotent. */
  @Override
  public void close() {
    TidepoolException failure = closeAll();
    if (failure != null) {
      throw failure;
    }
  }

  private void closeAfter(Throwable cause) {
    TidepoolException failure = closeAll();
    if (failure != null) {
      cause.addSuppressed(failure);
    }
  }

  private @Nullable TidepoolException closeAll() {
    TidepoolException failure = null;
    for (Map<String, ? extends AutoCloseable> files : List.of(writers, readers)) {
      for (AutoCloseable file : files.values()) {
        try {
          file.close();
        } catch (TidepoolException e) {
          if (failure == null) {
            failure = e;
          } else {
            failure.addSuppressed(e);
          }
        } catch (Exception e) {
          throw new AssertionError(e);
        }
      }
    }
    return failure;
  }
}
