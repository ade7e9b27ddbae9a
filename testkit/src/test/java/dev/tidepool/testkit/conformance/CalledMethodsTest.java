package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.methods.bytecode.MethodReader;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which static methods of Java's numbers kernels may call, as the guide says. */
class CalledMethodsTest {
  /** Kernels do not throw, and have neither random numbers nor floats of 16 bits. */
  private static final List<String> REFUSED =
      List.of(
          "Float.float16ToFloat(short)",
          "Float.floatToFloat16(float)",
          "Math.absExact(int)",
          "Math.absExact(long)",
          "Math.addExact(int, int)",
          "Math.addExact(long, long)",
          "Math.ceilDivExact(int, int)",
          "Math.ceilDivExact(long, long)",
          "Math.clamp(double, double, double)",
          "Math.clamp(float, float, float)",
          "Math.clamp(long, int, int)",
          "Math.clamp(long, long, long)",
          "Math.decrementExact(int)",
          "Math.decrementExact(long)",
          "Math.divideExact(int, int)",
          "Math.divideExact(long, long)",
          "Math.floorDivExact(int, int)",
          "Math.floorDivExact(long, long)",
          "Math.incrementExact(int)",
          "Math.incrementExact(long)",
          "Math.multiplyExact(int, int)",
          "Math.multiplyExact(long, int)",
          "Math.multiplyExact(long, long)",
          "Math.negateExact(int)",
          "Math.negateExact(long)",
          "Math.powExact(int, int)",
          "Math.powExact(long, int)",
          "Math.random()",
          "Math.scalb(float, int)",
          "Math.subtractExact(int, int)",
          "Math.subtractExact(long, long)",
          "Math.toIntExact(long)",
          "Math.ulp(double)",
          "Math.ulp(float)",
          "Math.unsignedMultiplyExact(int, int)",
          "Math.unsignedMultiplyExact(long, int)",
          "Math.unsignedMultiplyExact(long, long)",
          "Math.unsignedPowExact(int, int)",
          "Math.unsignedPowExact(long, int)");

  @Test
  void allButThoseThatTheGuideNamesMayBeCalled() {
    List<String> refused = new ArrayList<>();
    for (Method method : CalledMethods.all()) {
      try {
        var _ = MethodReader.read(CalledMethods.kernel(List.of(method)));
      } catch (KernelCompilationException e) {
        assertThat(e)
            .hasMessageContaining(
                "the call of %s.%s cannot be part of a kernel",
                method.getDeclaringClass().getSimpleName(), method.getName());
        refused.add(CalledMethods.shown(method));
      }
    }
    assertThat(refused).containsExactlyElementsOf(REFUSED);
  }
}
