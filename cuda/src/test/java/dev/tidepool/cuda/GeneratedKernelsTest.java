package dev.tidepool.cuda;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.expression.c.CGenerator;
import dev.tidepool.expression.c.Dialect;
import dev.tidepool.expression.types.DeviceTraits;
import dev.tidepool.expression.types.TypedProgram;
import dev.tidepool.host.CacheFolder;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * NVRTC takes all that the elementwise language can say, for every device that it knows. {@link
 * NvccTest} compiles the same expressions where there is only the toolkit's nvcc.
 */
class GeneratedKernelsTest {
  private static final CacheFolder NONE = new CacheFolder(null);

  @BeforeEach
  void compilerIsThere() {
    NvrtcLibrary.require();
  }

  private static byte[] compile(int architecture, String source) {
    return new Compiler(architecture, NONE).compile("a test", source, ElementwiseProgram.EXACT);
  }

  private static String text(TypedProgram program) {
    return CGenerator.generate(program, Dialect.CUDA_C, new DeviceTraits(true, true)).source();
  }

  @ParameterizedTest
  @MethodSource("dev.tidepool.cuda.Elementwise#types")
  void everyOperationCompilesForEveryType(ElementType<?> type) {
    int[] known = Nvrtc.nvrtcGetSupportedArchs();
    assertThat(compile(known[known.length - 1], text(Elementwise.of(type).program()))).isNotEmpty();
  }

  @Test
  void everyDeviceThatIsKnownGetsCodeOfItsOwn() {
    String source = text(Elementwise.of(ElementType.FLOAT).program());
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
        new String(
            compile(newest + 500, text(Elementwise.of(ElementType.INT).program())), ISO_8859_1);
    assertThat(ptx).contains(".version", ".target sm_" + newest, ".visible .entry elementwise");
  }

  @Test
  void nothingIsFusedButWhatIsWrittenSoAndNothingFlushedToZero() {
    List<String> expressions = List.of("x * y + x", "x / y", "sqrt(x)", "fma(x, y, x)");
    int[] known = Nvrtc.nvrtcGetSupportedArchs();
    String ptx =
        new String(
            compile(
                known[known.length - 1] + 500,
                text(new Elementwise(ElementType.FLOAT, expressions).program())),
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
    assertThatThrownBy(() -> compile(20, text(Elementwise.of(ElementType.INT).program())))
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
