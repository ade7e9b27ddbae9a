package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.ElementType;
import dev.tidepool.expression.c.CGenerator;
import dev.tidepool.expression.c.Dialect;
import dev.tidepool.expression.types.DeviceTraits;
import dev.tidepool.expression.types.TypedProgram;
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
 * once, because nvcc takes seconds for the smallest source.
 */
@Timeout(300)
class NvccTest {
  private static final String EXACT = "exact";

  private static String ptx = "";

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
    ptx = compile(folder, source.toString());
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

  /** Adds a source beside those before it. What nvcc includes by itself NVRTC does not. */
  private static void append(StringBuilder source, String name, String text) {
    source.append("#undef NAN\n#undef INFINITY\nnamespace of_").append(name);
    source.append(" {\n").append(text).append("}\n");
  }

  private static String compile(Path folder, String source)
      throws IOException, InterruptedException {
    Path input = Files.writeString(folder.resolve("kernels.cu"), source);
    Path output = folder.resolve("kernels.ptx");
    Path messages = folder.resolve("messages");
    List<String> command = new ArrayList<>(List.of("nvcc", "-ptx", "-Werror", "all-warnings"));
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
    for (ElementType<?> type : types()) {
      assertThat(ptx).containsOnlyOnce(".visible .entry " + name(type) + "(");
    }
  }

  @Test
  void nothingIsFusedButWhatIsWrittenSoAndNothingFlushedToZero() {
    String entry = ".visible .entry " + EXACT + "(";
    String rest = ptx.substring(ptx.indexOf(entry) + entry.length());
    assertThat(rest.substring(0, rest.indexOf("\n}")))
        .containsOnlyOnce("mul.rn.f32")
        .containsOnlyOnce("add.rn.f32")
        .containsOnlyOnce("div.rn.f32")
        .containsOnlyOnce("sqrt.rn.f32")
        .containsOnlyOnce("fma.rn.f32")
        .doesNotContain(".ftz");
  }
}
