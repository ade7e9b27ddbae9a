package dev.tidepool.methods.c;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.KernelSource;
import dev.tidepool.methods.bytecode.MethodReader;
import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Kernels without checks have no tests of indices in their text, and report no faults. */
class UncheckedKernelTest {
  private static final DeviceLimits DEVICE =
      new DeviceLimits(true, true, true, Long.MAX_VALUE, Long.MAX_VALUE, "a device");

  static void gathered(int i, int[] indices, float[] x, float[] y) {
    float sum = 0;
    for (int k = 0; k < 10; k++) {
      sum += x[i + k] / indices[k];
    }
    y[i] = sum + x[indices[i]];
  }

  static void quotients(int i, int[] x, int[] y) {
    y[i] = x[i] / y[i];
  }

  private static Stream<KernelLanguage> languages() {
    return Stream.of(new OpenClC(false), new OpenClC(true), new CudaC(), new MetalC());
  }

  private static MethodText text(String method, KernelLanguage language, boolean checked) {
    KernelSource.Method source = KernelSource.method(MethodHandles.lookup(), method);
    return MethodGenerator.generate(MethodReader.read(source), language, DEVICE, checked);
  }

  /** Returns the lines that use the length of an array, but for its declaration. */
  private static List<String> lengths(MethodText text) {
    String body = text.source().substring(text.source().indexOf("tp_array0 ="));
    return body.lines().filter(line -> line.contains("tp_length")).toList();
  }

  @ParameterizedTest
  @MethodSource("languages")
  void noIndexIsTestedAndNoFaultReported(KernelLanguage language) {
    MethodText checked = text("gathered", language, true);
    assertThat(checked.reportsFaults()).isTrue();
    assertThat(lengths(checked)).isNotEmpty();
    assertThat(checked.source()).contains("tp_fault");

    MethodText unchecked = text("gathered", language, false);
    assertThat(unchecked.reportsFaults()).isFalse();
    assertThat(lengths(unchecked)).isEmpty();
    assertThat(unchecked.source()).doesNotContain("tp_fault", "tp_failed");
  }

  @ParameterizedTest
  @MethodSource("languages")
  void aDivisionByZeroIsNoFaultEither(KernelLanguage language) {
    assertThat(text("quotients", language, true).source()).contains("tp_failed");
    MethodText unchecked = text("quotients", language, false);
    assertThat(unchecked.reportsFaults()).isFalse();
    assertThat(unchecked.source()).doesNotContain("tp_fault", "tp_failed");
  }
}
