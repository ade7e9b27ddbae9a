package dev.tidepool.expression.c;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.DeviceTraits;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.expression.types.Operand;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Expressions in Metal's language. */
class MetalTextTest {
  private static String text(String source, ScalarType type) {
    Map<String, Operand> operands = new HashMap<>();
    Expression expression = Expression.parse(source);
    expression
        .names()
        .forEach(
            name ->
                operands.put(
                    name.name(),
                    name.name().equals("a") ? Operand.scalar(2) : Operand.array(type)));
    return CGenerator.generate(
            expression.resolve(operands), Dialect.METAL, new DeviceTraits(false, true))
        .source();
  }

  @Test
  void arraysArePointersAndValuesAreMembersOfOneStruct() {
    assertThat(text("y = a*x + y", ScalarType.FLOAT32))
        .isEqualTo(
            """
            #include <metal_stdlib>
            using namespace metal;
            #if __METAL_VERSION__ >= 320
            #pragma METAL fp math_mode(safe)
            #pragma METAL fp contract(off)
            #else
            #pragma clang fp contract(off)
            #endif

            struct tp_values {
              ulong o_y;
              ulong o_x;
              float u0;
              ulong n;
            };

            kernel void elementwise(
                device float* a_y [[buffer(0)]],
                device const float* a_x [[buffer(1)]],
                constant tp_values& tp_in [[buffer(2)]],
                uint3 tp_global [[thread_position_in_grid]],
                uint3 tp_local [[thread_position_in_threadgroup]],
                uint3 tp_group [[threadgroup_position_in_grid]],
                uint3 tp_groups [[threadgroups_per_grid]],
                uint3 tp_size [[threads_per_threadgroup]]) {
              const ulong o_y = tp_in.o_y;
              const ulong o_x = tp_in.o_x;
              const float u0 = tp_in.u0;
              const ulong n = tp_in.n;
              const ulong i = ((ulong)tp_group.y * tp_groups.x + tp_group.x) * tp_size.x + tp_local.x;
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
  void functionsOfFloatsAreWrittenOutWithThoseThatTheyCall() {
    String text = text("y = pow(x, y)", ScalarType.FLOAT32);
    assertThat(text).contains("= tp_pow(v1, v0);").contains("float tp_pow(float x, float y) {");
    assertThat(text).contains("tp_exp_reduced(float r, float s, int k) {").contains("tp_split(");
    assertThat(text).doesNotContain("tp_sin").doesNotContain("double");
  }

  @Test
  void remaindersAreExact() {
    assertThat(text("y = x % y", ScalarType.FLOAT32)).contains("tp_fmod(a, b)");
    assertThat(text("y = x // y", ScalarType.FLOAT32)).contains("tp_fmod(a, b)");
    assertThat(text("y = x % y", ScalarType.INT32)).doesNotContain("fmod");
  }

  @Test
  void quotientsAndRootsAreTheLanguagesOwn() {
    assertThat(text("y = sqrt(x) / y", ScalarType.FLOAT32)).contains("= sqrt(").contains(" / v");
  }

  @Test
  void doublesAreRefused() {
    assertThatExceptionOfType(KernelCompilationException.class)
        .isThrownBy(() -> text("y = x + y", ScalarType.FLOAT64))
        .withMessageContaining("needs float64 values")
        .withMessageContaining("use another device");
  }

  @Test
  void moreArraysThanMetalPassesAreRefused() {
    String sum =
        IntStream.range(0, 30)
            .mapToObj(i -> "x" + i)
            .collect(Collectors.joining(" + ", "y = ", ""));
    assertThatExceptionOfType(KernelCompilationException.class)
        .isThrownBy(() -> text(sum, ScalarType.FLOAT32))
        .withMessageContaining("Metal passes at most 30 arrays to a kernel; split it");
    assertThat(text(sum.replace(" + x29", ""), ScalarType.FLOAT32)).contains("[[buffer(30)]]");
  }
}
