package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.BufferState;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.transfer.TransferStatistics;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Elementwise kernels compute NumPy's values over buffers, slices and arrays. */
public abstract class KernelConformance extends Topic {
  private static final int LENGTH = 70_003;

  private static float[] saxpy(float a, float[] x, float[] y) {
    float[] out = new float[x.length];
    for (int i = 0; i < x.length; i++) {
      out[i] = a * x[i] + y[i];
    }
    return out;
  }

  @TestFactory
  Stream<DynamicTest> aKernelReadsAndWritesBuffersOfEveryLocation() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> x = patterned(LENGTH, location, 1);
          UnifiedBuffer<float[]> y = patterned(LENGTH, location, 2);
          bench().kernel("y = a * x + y").execute(Arguments.of("a", 2f, "x", x, "y", y));
          Patterns.assertEqual(
              contents(y), saxpy(2, pattern(LENGTH, 1), pattern(LENGTH, 2)), "a * x + y");
          Patterns.assertEqual(contents(x), pattern(LENGTH, 1), "the input");
        });
  }

  @TestFactory
  Stream<DynamicTest> aSliceAtAnyOffsetIsAnArgument() {
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> x = patterned(LENGTH, location, 1);
          UnifiedBuffer<float[]> y = patterned(LENGTH, location, 2);
          float[] input = pattern(LENGTH, 1);
          float[] model = pattern(LENGTH, 2);
          Kernel saxpy = bench().kernel("y = a * x + y");
          for (int[] at : new int[][] {{0, 1, 1}, {1, 3, 999}, {333, 17, 4096}, {65_537, 5, 13}}) {
            try (UnifiedBuffer<float[]> from = x.slice(at[0], at[2]);
                UnifiedBuffer<float[]> to = y.slice(at[1], at[2])) {
              saxpy.execute(Arguments.of("a", 2, "x", from, "y", to));
            }
            for (int i = 0; i < at[2]; i++) {
              model[at[1] + i] += 2 * input[at[0] + i];
            }
          }
          Patterns.assertEqual(contents(y), model, "slices at odd offsets");
        });
  }

  @Test
  void everyElementTypeComputes() {
    if (bench().can(Capability.FLOAT64)) {
      doubles("y = x * 2 + 1");
    } else {
      assertThatThrownBy(() -> doubles("y = x * 2 + 1"))
          .isInstanceOf(KernelCompilationException.class)
          .hasMessageContaining("float64")
          .hasMessageContaining("use another device");
    }
    integers(ElementType.BYTE, "y = x + x", new byte[] {-3, 0, 60}, new byte[] {-6, 0, 120});
    integers(ElementType.SHORT, "y = x - 1", new short[] {-3, 0, 60}, new short[] {-4, -1, 59});
    integers(
        ElementType.INT, "y = x * x", new int[] {-3, 0, 60_000}, new int[] {9, 0, -694_967_296});
    integers(
        ElementType.LONG, "y = x * 3", new long[] {-1L << 40, 0, 5}, new long[] {-3L << 40, 0, 15});
    integers(
        ElementType.UNSIGNED_BYTE, "y = max(x, 1)", new byte[] {-1, 0, 60}, new byte[] {-1, 1, 60});
    integers(
        ElementType.UNSIGNED_INT,
        "y = x > 5 ? x : 5",
        new int[] {-1, 0, 60},
        new int[] {-1, 5, 60});
  }

  /** Otherwise the result would depend on the accelerator. */
  @Test
  void minAndMaxTakeTheNegativeZeroToBeLess() {
    Kernel kernel = bench().kernel("least = min(a, b); most = max(a, b)");
    float[] a = {0.0f, -0.0f, 0.0f, -0.0f, Float.NaN, -0.0f, 1};
    float[] b = {-0.0f, 0.0f, 0.0f, -0.0f, 0.0f, Float.NaN, -0.0f};
    float[] least = new float[a.length];
    float[] most = new float[a.length];

    kernel.execute(Arguments.of("a", a, "b", b, "least", least, "most", most));

    assertThat(least).containsExactly(-0.0f, -0.0f, 0.0f, -0.0f, Float.NaN, Float.NaN, -0.0f);
    assertThat(most).containsExactly(0.0f, 0.0f, 0.0f, -0.0f, Float.NaN, Float.NaN, 1);
  }

  /** State that a kernel keeps from one call must not affect the next. */
  @Test
  void oneKernelTakesOtherTypesFromCallToCall() {
    Kernel kernel = bench().kernel("y = a * x");
    for (int round = 0; round < 2; round++) {
      float[] single = new float[3];
      kernel.execute(Arguments.of("a", 0.5, "x", new float[] {1, 2, 3}, "y", single));
      assertThat(single).containsExactly(0.5f, 1, 1.5f);

      kernel.execute(Arguments.of("a", 2.5, "x", new float[] {1, 2, 3}, "y", single));
      assertThat(single).containsExactly(2.5f, 5, 7.5f);

      int[] whole = new int[3];
      kernel.execute(Arguments.of("a", 4, "x", new int[] {1, 2, 3}, "y", whole));
      assertThat(whole).containsExactly(4, 8, 12);

      float[] factors = {3, 4, 5};
      kernel.execute(Arguments.of("a", factors, "x", new float[] {1, 2, 3}, "y", single));
      assertThat(single).containsExactly(3, 8, 15);

      assertThatThrownBy(() -> kernel.execute(Arguments.of("x", factors, "y", single)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("'a' is missing");
      assertThatThrownBy(
              () -> kernel.execute(Arguments.of("b", factors, "x", factors, "y", single)))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(
              () ->
                  kernel.execute(
                      Arguments.of("a", factors, "x", factors, "y", single, "unused", 1)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("unused");
    }
  }

  private void doubles(String expression) {
    double[] x = Patterns.array(ElementType.DOUBLE, 1000, 1);
    double[] y = new double[1000];
    bench().kernel(expression).execute(Arguments.of("x", x, "y", y));
    double[] expected = new double[1000];
    for (int i = 0; i < 1000; i++) {
      expected[i] = x[i] * 2 + 1;
    }
    Patterns.assertEqual(y, expected, expression);
  }

  private <A> void integers(ElementType<A> type, String expression, A in, A expected) {
    int length = type.length(in);
    UnifiedBuffer<A> x = buffer(type, length, MemoryLocation.DEVICE);
    x.copyFrom(in);
    UnifiedBuffer<A> y = buffer(type, length, MemoryLocation.DEVICE);
    bench().kernel(expression).execute(Arguments.of("x", x, "y", y));
    Patterns.assertEqual(contents(y), expected, expression + " of " + type);
  }

  @Test
  void aComparisonGivesBooleans() {
    float[] x = pattern(1000, 1);
    boolean[] positive = new boolean[1000];
    bench().kernel("p = x > 0").execute(Arguments.of("x", x, "p", positive));
    boolean[] expected = new boolean[1000];
    for (int i = 0; i < 1000; i++) {
      expected[i] = x[i] > 0;
    }
    Patterns.assertEqual(positive, expected, "x > 0");
  }

  @Test
  void arraysAreArgumentsAndTravelOnlyAsFarAsNeeded() {
    float[] x = pattern(LENGTH, 1);
    float[] y = pattern(LENGTH, 2);
    float[] expected = saxpy(3, x, y);
    bench().kernel("y = a * x + y").execute(Arguments.of("a", 3, "x", x, "y", y));
    Patterns.assertEqual(y, expected, "into the array");
    Patterns.assertEqual(x, pattern(LENGTH, 1), "the input array");
  }

  @Test
  void severalAssignmentsAreOnePassAndLocalNamesNeedNoArgument() {
    float[] x = pattern(100, 1);
    float[] sum = new float[100];
    float[] difference = new float[100];
    bench()
        .kernel("t = x * 2; s = t + 1; d = t - 1")
        .execute(Arguments.of("x", x, "s", sum, "d", difference));
    for (int i = 0; i < 100; i++) {
      assertThat(sum[i]).isEqualTo(x[i] * 2 + 1);
      assertThat(difference[i]).isEqualTo(x[i] * 2 - 1);
    }
  }

  @Test
  void twoKernelsInARowMoveNoByteBetweenThem() {
    UnifiedBuffer<float[]> x = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> y = patterned(LENGTH, MemoryLocation.DEVICE, 2);
    Kernel saxpy = bench().kernel("y = a * x + y");
    saxpy.execute(Arguments.of("a", 2, "x", x, "y", y));
    TransferStatistics before = bench().moved();
    saxpy.execute(Arguments.of("a", 1, "x", y, "y", x));
    TransferStatistics after = bench().moved();
    assertThat(after.hostToDeviceBytes()).isEqualTo(before.hostToDeviceBytes());
    assertThat(after.deviceToHostBytes()).isEqualTo(before.deviceToHostBytes());
    assertThat(after.deviceToDeviceBytes()).isEqualTo(before.deviceToDeviceBytes());
    float[] first = saxpy(2, pattern(LENGTH, 1), pattern(LENGTH, 2));
    Patterns.assertEqual(contents(x), saxpy(1, first, pattern(LENGTH, 1)), "chained");
  }

  @Test
  void onlyInputsTravelAndOnlyOutputsBecomeNewerOnTheDevice() {
    UnifiedBuffer<float[]> x = patterned(LENGTH, MemoryLocation.HOST, 1);
    UnifiedBuffer<float[]> y = patterned(LENGTH, MemoryLocation.HOST, 2);
    TransferStatistics before = bench().moved();
    bench().kernel("y = x").execute(Arguments.of("x", x, "y", y));
    assertThat(bench().moved().hostToDeviceBytes() - before.hostToDeviceBytes())
        .isEqualTo(bench().sharesMemory() ? 0 : x.byteSize());
    assertThat(x.state()).isEqualTo(BufferState.SYNCHRONIZED);
    assertThat(y.state()).isEqualTo(BufferState.DEVICE_DIRTY);
    Patterns.assertEqual(contents(y), pattern(LENGTH, 1), "copied by a kernel");
  }

  @Test
  void buffersOfAnotherManagerAreCopiedInAndBack() {
    for (UnifiedMemoryManager other : bench().otherManagers()) {
      try (UnifiedBuffer<float[]> x = other.copyOf(pattern(1000, 1));
          UnifiedBuffer<float[]> y = other.copyOf(pattern(1000, 2))) {
        bench().kernel("y = a * x + y").execute(Arguments.of("a", 2, "x", x, "y", y));
        Patterns.assertEqual(
            contents(y),
            saxpy(2, pattern(1000, 1), pattern(1000, 2)),
            "of " + other.accelerator().id());
      }
    }
  }

  @Test
  void partsOfAnotherManagersBufferMayOverlapUnlessBothAreWritten() {
    for (UnifiedMemoryManager other : bench().otherManagers()) {
      try (UnifiedBuffer<float[]> buffer = other.copyOf(pattern(100, 1));
          UnifiedBuffer<float[]> low = buffer.slice(0, 60);
          UnifiedBuffer<float[]> high = buffer.slice(40, 60)) {
        assertThatThrownBy(
                () -> bench().kernel("x = 1; y = 2").execute(Arguments.of("x", low, "y", high)))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("'x' and 'y' overlap");
        bench().kernel("y = x").execute(Arguments.of("x", low, "y", high));
        float[] model = pattern(100, 1);
        System.arraycopy(pattern(100, 1), 0, model, 40, 60);
        Patterns.assertEqual(contents(buffer), model, "of " + other.accelerator().id());
      }
    }
  }

  @Test
  void oneBufferMayBeInputAndOutput() {
    UnifiedBuffer<float[]> buffer = patterned(LENGTH, MemoryLocation.DEVICE, 1);
    bench().kernel("y = x + x").execute(Arguments.of("x", buffer, "y", buffer));
    float[] model = pattern(LENGTH, 1);
    for (int i = 0; i < LENGTH; i++) {
      model[i] += model[i];
    }
    Patterns.assertEqual(contents(buffer), model, "in place");
  }

  @Test
  void aKernelOverNothingDoesNothing() {
    UnifiedBuffer<float[]> nothing = buffer(ElementType.FLOAT, 0, MemoryLocation.DEVICE);
    bench().kernel("y = x + 1").execute(Arguments.of("x", nothing, "y", new float[0]));
    assertThat(nothing.length()).isZero();
  }

  @Test
  void wrongArgumentsAreRefusedBeforeAnythingRuns() {
    UnifiedBuffer<float[]> x = patterned(10, MemoryLocation.DEVICE, 1);
    UnifiedBuffer<float[]> y = patterned(10, MemoryLocation.DEVICE, 2);
    Kernel saxpy = bench().kernel("y = a * x + y");
    for (Arguments wrong :
        List.of(
            Arguments.of("a", 2, "y", y),
            Arguments.of("a", 2, "x", x, "y", y, "z", 1),
            Arguments.of("a", 2, "x", new float[11], "y", y),
            Arguments.of("a", 2, "x", x, "y", 5))) {
      assertThatThrownBy(() -> saxpy.execute(wrong)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> saxpy.executeAsync(wrong))
          .isInstanceOf(IllegalArgumentException.class);
    }
    assertThatThrownBy(
            () -> saxpy.execute(Arguments.of("a", 2, "x", x, "y", y), LaunchRange.of(10)))
        .isInstanceOf(IllegalArgumentException.class);
    Patterns.assertEqual(contents(y), pattern(10, 2), "untouched");
  }

  @Test
  void aWrongSourceIsRefusedWhenItIsCompiled() {
    assertThatThrownBy(() -> memory().compile(KernelSource.elementwise("y = 2 * * x")))
        .isInstanceOf(KernelCompilationException.class);
    assertThatThrownBy(() -> memory().compile(KernelSource.elementwise("y = arcsinh2(x)")))
        .isInstanceOf(KernelCompilationException.class);
  }

  @Test
  void theSameNumbersComeFromEveryAccelerator() {
    String expression = "y = x % 7 + sqrt(abs(x)) / 3 - (x > 2 ? floor(x / 4) : -x)";
    float[] x = pattern(10_000, 1);
    float[] here = new float[10_000];
    bench().kernel(expression).execute(Arguments.of("x", x, "y", here));
    for (UnifiedMemoryManager other : bench().otherManagers()) {
      if (bench().hasCompiler(other.accelerator())) {
        float[] there = new float[10_000];
        other
            .compile(KernelSource.elementwise(expression))
            .execute(Arguments.of("x", x, "y", there));
        Patterns.assertEqual(here, there, "as on " + other.accelerator().id());
      }
    }
  }
}
