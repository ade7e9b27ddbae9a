package dev.tidepool.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.NativeAccess;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * A handle of a native library that takes device pointers and a stream: cuBLAS, or {@code saxpy.cc}
 * with functions of the same form. The latter is compiled at the first use and finds the simulated
 * driver as any library finds {@code libcuda}.
 */
final class SaxpyLibrary implements AutoCloseable {
  private final Functions functions;
  private final long context;
  private final long handle;

  private SaxpyLibrary(Functions functions, long context) {
    this.functions = functions;
    this.context = context;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(JAVA_LONG);
      must(() -> (int) functions.create.invokeExact(out));
      this.handle = out.get(JAVA_LONG, 0);
    }
  }

  /** What is called of a library. */
  record Functions(
      MethodHandle create, MethodHandle setStream, MethodHandle saxpy, MethodHandle destroy) {
    private static final class Compiled {
      static final Functions INSTANCE =
          of(compiled(SimulatedCuda.orSkip()).toString(), "saxpy", "");
    }

    /** Of {@code saxpy.cc}, on the simulated driver. */
    static Functions onSimulation() {
      return Compiled.INSTANCE;
    }

    /** Of cuBLAS, from a file or by the name that the system's loader knows. */
    static Functions ofCublas(String library) {
      return of(library, "cublas", "_v2");
    }

    private static Functions of(String library, String prefix, String suffix) {
      SymbolLookup symbols = SymbolLookup.libraryLookup(library, Arena.global());
      return new Functions(
          function(symbols, prefix + "Create" + suffix, ADDRESS),
          function(symbols, prefix + "SetStream" + suffix, JAVA_LONG, JAVA_LONG),
          function(
              symbols,
              prefix + "Saxpy" + suffix,
              JAVA_LONG,
              JAVA_INT,
              ADDRESS,
              JAVA_LONG,
              JAVA_INT,
              JAVA_LONG,
              JAVA_INT),
          function(symbols, prefix + "Destroy" + suffix, JAVA_LONG));
    }
  }

  private interface Call {
    int run() throws Throwable;
  }

  /** A handle of the library on the simulated driver in a context. */
  static SaxpyLibrary in(long context) {
    return in(context, Functions.onSimulation());
  }

  /** A handle of a library in a context. */
  static SaxpyLibrary in(long context, Functions functions) {
    return inContext(context, () -> new SaxpyLibrary(functions, context));
  }

  /** {@code y += alpha * x} on the stream of an access to both; does not wait. */
  void saxpy(float alpha, long x, long y, int count, NativeAccess access) {
    assertThat(access.context()).isEqualTo(context);
    long stream = access.queue();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment factor = arena.allocateFrom(JAVA_FLOAT, alpha);
      inContext(
          context,
          () -> {
            must(() -> (int) functions.setStream.invokeExact(handle, stream));
            must(() -> (int) functions.saxpy.invokeExact(handle, count, factor, x, 1, y, 1));
            return handle;
          });
    }
  }

  @Override
  public void close() {
    inContext(
        context,
        () -> {
          must(() -> (int) functions.destroy.invokeExact(handle));
          return handle;
        });
  }

  private static <T> T inContext(long context, Supplier<T> calls) {
    Cuda.cuCtxPushCurrent(context);
    try {
      return calls.get();
    } finally {
      var _ = Cuda.cuCtxPopCurrent();
    }
  }

  private static void must(Call call) {
    try {
      assertThat(call.run()).isZero();
    } catch (RuntimeException | Error thrown) {
      throw thrown;
    } catch (Throwable thrown) {
      throw new AssertionError(thrown);
    }
  }

  private static MethodHandle function(
      SymbolLookup library, String name, MemoryLayout... parameters) {
    return Linker.nativeLinker()
        .downcallHandle(library.findOrThrow(name), FunctionDescriptor.of(JAVA_INT, parameters));
  }

  private static Path compiled(SimulatedCuda simulated) {
    String chosen = System.getenv("CXX");
    try (InputStream source = SaxpyLibrary.class.getResourceAsStream("saxpy.cc")) {
      Path folder = Files.createTempDirectory("tidepool-saxpy");
      Path file = folder.resolve("saxpy.cc");
      Path library = folder.resolve("libsaxpy.so");
      Files.write(file, Objects.requireNonNull(source, "saxpy.cc").readAllBytes());
      Process compiler =
          new ProcessBuilder(
                  List.of(
                      chosen == null || chosen.isBlank() ? "g++" : chosen,
                      "-std=c++17",
                      "-O1",
                      "-fPIC",
                      "-fvisibility=hidden",
                      "-Wall",
                      "-Wextra",
                      "-Werror",
                      "-shared",
                      file.toString(),
                      simulated.driver().toString(),
                      simulated.compiler().toString(),
                      "-o",
                      library.toString()))
              .redirectErrorStream(true)
              .start();
      String output = new String(compiler.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(compiler.waitFor()).as(output).isZero();
      // The last one goes first.
      List.of(folder, library, file).forEach(path -> path.toFile().deleteOnExit());
      return library;
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
      throw new AssertionError(interrupt);
    }
  }
}
