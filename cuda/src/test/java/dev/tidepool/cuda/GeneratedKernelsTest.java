package dev.tidepool.cuda;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.expression.CGenerator;
import dev.tidepool.expression.DeviceTraits;
import dev.tidepool.expression.Dialect;
import dev.tidepool.expression.Expression;
import dev.tidepool.expression.TypedProgram;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** NVRTC takes all that the elementwise language can say, for every device that it knows. */
class GeneratedKernelsTest {
  private static final KernelCache NONE = new KernelCache(null);

  private static final List<String> EXPRESSIONS =
      Stream.of(
              Stream.of("-x", "~x", "!x", "abs(x)", "floor(x)", "ceil(x)", "rint(x)", "sqrt(x)"),
              Stream.of("cbrt(x)", "exp(x)", "exp2(x)", "expm1(x)", "log(x)", "log2(x)"),
              Stream.of("log10(x)", "log1p(x)", "sin(x)", "cos(x)", "tan(x)", "asin(x)"),
              Stream.of("acos(x)", "atan(x)", "sinh(x)", "cosh(x)", "tanh(x)", "atan2(x, y)"),
              Stream.of("pow(x, y)", "hypot(x, y)", "min(x, y)", "max(x, y)", "fma(x, y, x)"),
              Stream.of("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^")
                  .map(operator -> "x " + operator + " y"),
              Stream.of("<", "<=", ">", ">=", "==", "!=", "&&", "||")
                  .map(operator -> "x " + operator + " y"),
              Stream.of("x < y ? x : y", "x * 0.1", "a * x + 3", "x * 1e400", "x * -1e400"),
              Stream.of("x * (1e400 - 1e400)", "x * 5e-324"))
          .flatMap(expressions -> expressions)
          .toList();

  static List<ElementType<?>> types() {
    return List.of(
        ElementType.BYTE,
        ElementType.SHORT,
        ElementType.INT,
        ElementType.LONG,
        ElementType.FLOAT,
        ElementType.DOUBLE,
        ElementType.BOOLEAN);
  }

  @BeforeEach
  void compilerIsThere() {
    NvrtcLibrary.require();
  }

  /** All expressions that the type allows, as one kernel. */
  private static TypedProgram everythingOver(ElementType<?> type) {
    List<String> allowed = new ArrayList<>();
    for (String expression : EXPRESSIONS) {
      try {
        resolved(List.of(expression), type);
        allowed.add(expression);
      } catch (KernelCompilationException notOfThisType) {
        // Bits of floats, for one.
      }
    }
    assertThat(allowed).hasSizeGreaterThan(EXPRESSIONS.size() / 2);
    return resolved(allowed, type);
  }

  private static TypedProgram resolved(List<String> expressions, ElementType<?> type) {
    String all = String.join("\n", expressions);
    List<KernelParameter> parameters = new ArrayList<>();
    parameters.add(KernelParameter.in("x", type));
    if (all.matches("(?s).*\\by\\b.*")) {
      parameters.add(KernelParameter.in("y", type));
    }
    if (all.matches("(?s).*\\ba\\b.*")) {
      parameters.add(KernelParameter.scalar("a", ElementType.DOUBLE));
    }
    StringBuilder source = new StringBuilder();
    for (int i = 0; i < expressions.size(); i++) {
      source.append("z").append(i).append(" = ").append(expressions.get(i)).append("\n");
      parameters.add(KernelParameter.out("z" + i, ElementType.DOUBLE));
    }
    return Expression.parse(source.toString()).resolve(parameters);
  }

  private static byte[] compile(int architecture, String source) {
    return new Compiler(architecture, NONE).compile("a test", source, ElementwiseProgram.EXACT);
  }

  private static String text(TypedProgram program) {
    return CGenerator.generate(program, Dialect.CUDA_C, new DeviceTraits(true, true)).source();
  }

  @ParameterizedTest
  @MethodSource("types")
  void everyOperationCompilesForEveryType(ElementType<?> type) {
    int[] known = Nvrtc.nvrtcGetSupportedArchs();
    assertThat(compile(known[known.length - 1], text(everythingOver(type)))).isNotEmpty();
  }

  @Test
  void everyDeviceThatIsKnownGetsCodeOfItsOwn() {
    String source = text(everythingOver(ElementType.FLOAT));
    for (int architecture : Nvrtc.nvrtcGetSupportedArchs()) {
      assertThat(new String(compile(architecture, source), ISO_8859_1))
          .as("for %d", architecture)
          .startsWith("\u007fELF");
    }
  }

  @Test
  void aNewerDeviceGetsPtxForTheNewestThatIsKnown() {
    int[] known = Nvrtc.nvrtcGetSupportedArchs();
    int newest = known[known.length - 1];
    String ptx =
        new String(compile(newest + 500, text(everythingOver(ElementType.INT))), ISO_8859_1);
    assertThat(ptx).contains(".version", ".target sm_" + newest, ".visible .entry elementwise");
  }

  @Test
  void nothingIsFusedButWhatIsWrittenSoAndNothingFlushedToZero() {
    List<String> expressions = List.of("x * y + x", "x / y", "sqrt(x)", "fma(x, y, x)");
    int[] known = Nvrtc.nvrtcGetSupportedArchs();
    String ptx =
        new String(
            compile(known[known.length - 1] + 500, text(resolved(expressions, ElementType.FLOAT))),
            ISO_8859_1);
    assertThat(ptx)
        .containsOnlyOnce("mul.rn.f32")
        .containsOnlyOnce("add.rn.f32")
        .containsOnlyOnce("div.rn.f32")
        .containsOnlyOnce("sqrt.rn.f32")
        .containsOnlyOnce("fma.rn.f32")
        .doesNotContain(".ftz");
  }

  @Test
  void aDeviceOlderThanNvrtcKnowsIsRefusedWithBothVersions() {
    int oldest = Arrays.stream(Nvrtc.nvrtcGetSupportedArchs()).min().orElseThrow();
    assertThatThrownBy(() -> compile(20, text(everythingOver(ElementType.INT))))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining("compute capability " + oldest / 10.0)
        .hasMessageContaining("the device has 2.0");
  }

  @Test
  void aWrongSourceIsAnErrorWithTheLineAndTheLog() {
    String source = "extern \"C\" __global__ void f(float *x) {\n  x[0] = missing;\n}\n";
    int[] known = Nvrtc.nvrtcGetSupportedArchs();
    assertThatThrownBy(() -> compile(known[0], source))
        .isInstanceOfSatisfying(
            KernelCompilationException.class,
            failure -> {
              assertThat(failure).hasMessageContaining("kernel.cu(2)");
              assertThat(failure.log()).contains("missing");
            });
  }
}
