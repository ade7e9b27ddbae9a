package dev.tidepool.expression.c;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.DeviceTraits;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.Operand;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CGeneratorTest {
  private static final DeviceTraits FULL = new DeviceTraits(true, false);
  private static final DeviceTraits SINGLE = new DeviceTraits(false, false);

  @Test
  void aKernelIsReadable() {
    KernelText kernel = generate("y = a*x + y", FULL, ScalarType.FLOAT32, ScalarType.FLOAT32);

    assertThat(kernel.entry()).isEqualTo("elementwise");
    assertThat(kernel.source())
        .isEqualTo(
            """
            #pragma OPENCL EXTENSION cl_khr_fp64 : enable
            #pragma OPENCL FP_CONTRACT OFF

            __kernel void elementwise(
                __global float* a_y,
                const ulong o_y,
                __global const float* a_x,
                const ulong o_x,
                const float u0,
                const ulong n) {
              const ulong i = get_global_id(0);
              if (i >= n) {
                return;
              }
              const float v0 = a_y[o_y + i];
              const float v1 = a_x[o_x + i];
              const float v2 = u0;
              const float v3 = v2 * v1;
              const float v4 = v3 + v0;
              a_y[o_y + i] = v4;
            }
            """);
  }

  @Test
  void integersNeitherOverflowNorDivideByZero() {
    String source = generate("y = x//y + x*y", FULL, ScalarType.INT32, ScalarType.INT32).source();

    assertThat(source)
        .contains("const int d = b == 0 || b == -1 ? 1 : b;")
        .contains("= (int)(floor_divide_int32(v1, v0));")
        .contains("= (int)((uint)v1 * (uint)v0);")
        .contains("= (int)((uint)v2 + (uint)v3);");
  }

  @Test
  void functionsOfFloatsAreComputedInDouble() {
    assertThat(generate("y = exp(x) + y", FULL, ScalarType.FLOAT32, ScalarType.FLOAT32).source())
        .contains("= (float)exp((double)v1);");
    assertThat(generate("y = x/y", FULL, ScalarType.FLOAT32, ScalarType.FLOAT32).source())
        .contains("return (float)((double)a / (double)b);");
    assertThat(
            generate(
                    "y = x/y", new DeviceTraits(true, true), ScalarType.FLOAT32, ScalarType.FLOAT32)
                .source())
        .contains("= v1 / v0;");
  }

  @Test
  void withoutDoublesWhatNeedsThemIsRefused() {
    assertThatNoException()
        .isThrownBy(() -> generate("y = a*x + y", SINGLE, ScalarType.FLOAT32, ScalarType.FLOAT32));
    assertThatExceptionOfType(KernelCompilationException.class)
        .isThrownBy(() -> generate("y = x + y", SINGLE, ScalarType.FLOAT32, ScalarType.FLOAT64))
        .withMessageContaining("needs float64 values, but the device has no double precision");
    assertThatExceptionOfType(KernelCompilationException.class)
        .isThrownBy(() -> generate("y = exp(x)+y", SINGLE, ScalarType.FLOAT32, ScalarType.FLOAT32))
        .withMessageContaining("needs 'exp' of float32, which is computed in double");
    assertThatExceptionOfType(KernelCompilationException.class)
        .isThrownBy(() -> generate("y = x/y", SINGLE, ScalarType.FLOAT32, ScalarType.FLOAT32))
        .withMessageContaining("'/' of float32");
  }

  @Test
  void constantsAreExact() {
    assertThat(generate("y = x + 0.1 + y", FULL, ScalarType.FLOAT32, ScalarType.FLOAT32).source())
        .contains(" = 0x1.99999ap-4f;");
    assertThat(generate("y = x - 1e999 + y", FULL, ScalarType.FLOAT64, ScalarType.FLOAT64).source())
        .contains(" = INFINITY;");
    assertThat(
            generate("y = x + -9223372036854775808 + y", FULL, ScalarType.INT64, ScalarType.INT64)
                .source())
        .contains(" = (long)0x8000000000000000UL;");
  }

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void theTextHasTheDigitsOfCInEveryLocale(Dialect dialect) {
    Expression expression = Expression.parse("y = x*0.25 + x");
    Operand floats = Operand.array(ScalarType.FLOAT32);
    Supplier<String> text =
        () ->
            CGenerator.generate(
                    expression.resolve(Map.of("x", floats, "y", floats)), dialect, SINGLE)
                .source();
    String expected = text.get();
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.of("ar", "EG"));
    try {
      assertThat(text.get()).isEqualTo(expected);
    } finally {
      Locale.setDefault(before);
    }
  }

  private static KernelText generate(
      String source, DeviceTraits traits, ScalarType x, ScalarType y) {
    Expression expression = Expression.parse(source);
    boolean scalar = expression.names().stream().anyMatch(name -> name.name().equals("a"));
    Map<String, Operand> operands =
        scalar
            ? Map.of("a", Operand.scalar(2), "x", Operand.array(x), "y", Operand.array(y))
            : Map.of("x", Operand.array(x), "y", Operand.array(y));
    return CGenerator.generate(expression.resolve(operands), Dialect.OPENCL_C, traits);
  }
}
