package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.expression.c.CGenerator;
import dev.tidepool.expression.c.Dialect;
import dev.tidepool.expression.types.DeviceTraits;
import dev.tidepool.expression.types.TypedProgram;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.c.CudaC;
import dev.tidepool.methods.c.MethodGenerator;
import dev.tidepool.testkit.RandomKernels;
import dev.tidepool.testkit.conformance.MethodKernelConformance;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * NVIDIA's nvcc takes all the CUDA C++ that the library makes. {@link GeneratedKernelsTest} asks
 * NVRTC, which compiles as a program does, but few machines have it. All kernels are compiled at
 * once for each architecture, because nvcc takes seconds for the smallest source.
 */
@Timeout(300)
class NvccTest {
  private static final String EXACT = "exact";

  private static final String METHOD = "method_";
  private static final String RANDOM = "random_kernels";
  private static final int RANDOM_PROGRAMS = 5;

  /** The oldest and the newest architecture of the toolkit, and one between. */
  private static final List<String> ARCHITECTURES = List.of("75", "90", "120");

  /**
   * Warnings that a method may cause as it is written: variables that are not read, division and
   * remainder by a constant zero, constants that change their sign when they are converted, and
   * loops that are not reached.
   */
  private static final String SUPPRESSED = "177,550,39,179,68,128";

  private static final List<String> PTX = new ArrayList<>();

  @BeforeAll
  static void compileOnce(@TempDir Path folder) throws IOException, InterruptedException {
    if (Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
        .noneMatch(part -> Files.isExecutable(Path.of(part, "nvcc")))) {
      skip("NO NVCC ON THE PATH: generated CUDA C++ is not compiled; install the CUDA toolkit");
    }
    StringBuilder source = new StringBuilder();
    for (ElementType<?> type : types()) {
      append(source, name(type), Elementwise.of(type).program());
    }
    List<String> exact = List.of("x * y + x", "x / y", "sqrt(x)", "fma(x, y, x)");
    append(source, EXACT, new Elementwise(ElementType.FLOAT, exact).program());
    for (KernelSource.Method method : MethodKernelConformance.kernels()) {
      append(source, METHOD + method.name(), method);
    }
    long seed = System.nanoTime();
    System.err.println("random kernels for nvcc: seed " + seed);
    // Fifty together may be too long for one program.
    for (int i = 0; i < RANDOM_PROGRAMS; i++) {
      append(source, RANDOM + i, RandomKernels.program(seed + i * 10L, 10));
    }
    append(source, ScatterKernel.ENTRY, ScatterKernel.SOURCE);
    for (String architecture : ARCHITECTURES) {
      PTX.add(compile(folder, architecture, source.toString()));
    }
  }

  private static void skip(String message) {
    System.err.println(message);
    abort(message);
  }

  private static List<ElementType<?>> types() {
    List<ElementType<?>> types = new ArrayList<>(Elementwise.types());
    types.add(ElementType.UNSIGNED_BYTE);
    types.add(ElementType.UNSIGNED_SHORT);
    types.add(ElementType.UNSIGNED_INT);
    types.add(ElementType.UNSIGNED_LONG);
    return types;
  }

  private static String name(ElementType<?> type) {
    return "elementwise_" + type;
  }

  private static void append(StringBuilder source, String name, TypedProgram program) {
    String text =
        CGenerator.generate(program, Dialect.CUDA_C, new DeviceTraits(true, true)).source();
    append(source, name, text.replace(" " + CGenerator.ENTRY + "(", " " + name + "("));
  }

  private static void append(StringBuilder source, String name, KernelSource.Method method) {
    String text =
        MethodGenerator.generate(
                MethodReader.read(method), new CudaC(), MethodProgram.limits("nvcc"), true)
            .source();
    append(source, name, text.replace(" " + MethodGenerator.ENTRY + "(", " " + name + "("));
  }

  /** Adds a source beside those before it. What nvcc includes by itself NVRTC does not. */
  private static void append(StringBuilder source, String name, String text) {
    source.append("#undef NAN\n#undef INFINITY\nnamespace of_").append(name);
    source.append(" {\n").append(text).append("}\n");
  }

  private static String compile(Path folder, String architecture, String source)
      throws IOException, InterruptedException {
    Path input = Files.writeString(folder.resolve("kernels.cu"), source);
    Path output = folder.resolve("kernels.ptx");
    Path messages = folder.resolve("messages");
    List<String> command =
        new ArrayList<>(
            List.of(
                "nvcc",
                "-ptx",
                "-arch=compute_" + architecture,
                "-Werror",
                "all-warnings",
                "-diag-suppress",
                SUPPRESSED));
    command.addAll(ElementwiseProgram.EXACT);
    command.addAll(List.of("-o", output.toString(), input.toString()));
    Process nvcc =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(messages.toFile())
            .start();
    try {
      assertThat(nvcc.waitFor(200, TimeUnit.SECONDS)).as("nvcc ends").isTrue();
    } finally {
      nvcc.destroyForcibly();
    }
    assertThat(nvcc.exitValue()).as(Files.readString(messages)).isZero();
    return Files.readString(output);
  }

  @Test
  void everyOperationCompilesForEveryType() {
    for (String ptx : PTX) {
      for (ElementType<?> type : types()) {
        assertThat(ptx).containsOnlyOnce(".visible .entry " + name(type) + "(");
      }
    }
  }

  @Test
  void kernelsFromJavaMethodsCompile() {
    List<KernelSource.Method> methods = MethodKernelConformance.kernels();
    assertThat(methods).hasSizeGreaterThan(15);
    for (String ptx : PTX) {
      for (KernelSource.Method method : methods) {
        assertThat(ptx).containsOnlyOnce(".visible .entry " + METHOD + method.name() + "(");
      }
      for (int i = 0; i < RANDOM_PROGRAMS; i++) {
        assertThat(ptx).containsOnlyOnce(".visible .entry " + RANDOM + i + "(");
      }
    }
  }

  @Test
  void theKernelOfSmallCopiesCompiles() {
    for (String ptx : PTX) {
      assertThat(ptx).containsOnlyOnce(".visible .entry " + ScatterKernel.ENTRY + "(");
    }
  }

  @Test
  void nothingIsFusedButWhatIsWrittenSoAndNothingFlushedToZero() {
    String ptx = PTX.getFirst();
    String entry = ".visible .entry " + EXACT + "(";
    String rest = ptx.substring(ptx.indexOf(entry) + entry.length());
    String body = rest.substring(0, rest.indexOf("\n}"));
    assertThat(body).doesNotContain(".ftz");
    // A thread computes several elements.
    for (String exact : List.of("mul.rn", "add.rn", "div.rn", "sqrt.rn", "fma.rn")) {
      assertThat(body.split(exact + ".f32", -1)).as(exact).hasSize(1 + 4);
    }
    assertThat(body).doesNotContain("mul.f32", "add.f32", "fma.rn.ftz", "approx");
  }
}
