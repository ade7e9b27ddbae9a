package dev.tidepool;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a hand-written kernel takes as arguments, and what it refuses before it runs. */
final class KernelArgumentTest {
  private static final KernelParameter OUT = KernelParameter.out("out", ElementType.DOUBLE);

  private final Tidepool tidepool = Tidepool.open();
  private final UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));

  @AfterEach
  void close() {
    tidepool.close();
  }

  private Kernel kernel(ElementType<?> type) {
    return memory.compile(
        KernelSource.java(
            item -> {
              item.array(0).set(JAVA_DOUBLE_UNALIGNED, 0, item.scalar(1));
              item.array(0).set(JAVA_LONG_UNALIGNED, 8, item.integer(1));
            },
            OUT,
            KernelParameter.scalar("n", type)));
  }

  private static Arguments arguments(double[] out, Object n) {
    return Arguments.of("out", out, "n", n);
  }

  private static org.junit.jupiter.params.provider.Arguments row(Object... values) {
    return org.junit.jupiter.params.provider.Arguments.of(values);
  }

  private static Stream<org.junit.jupiter.params.provider.Arguments> accepted() {
    return Stream.of(
        row(ElementType.INT, 7L, 7.0),
        row(ElementType.INT, (byte) -7, -7.0),
        row(ElementType.INT, 2.0, 2.0),
        row(ElementType.INT, true, 1.0),
        row(ElementType.INT, new BigDecimal("1e3"), 1000.0),
        row(ElementType.INT, new AtomicLong(5), 5.0),
        row(ElementType.INT, Integer.MIN_VALUE, -2147483648.0),
        row(ElementType.LONG, 1L << 40, (double) (1L << 40)),
        row(ElementType.LONG, BigInteger.TEN, 10.0),
        row(ElementType.BYTE, -128, -128.0),
        row(ElementType.UNSIGNED_BYTE, 255, 255.0),
        row(ElementType.UNSIGNED_BYTE, (byte) -1, 255.0),
        row(ElementType.UNSIGNED_INT, 4294967295L, 4294967295.0),
        row(ElementType.UNSIGNED_INT, -1, 4294967295.0),
        row(ElementType.UNSIGNED_LONG, -1L, 18446744073709551615.0),
        row(ElementType.FLOAT, 0.1, (double) 0.1f),
        row(ElementType.FLOAT, 1e-60, 0.0),
        row(ElementType.FLOAT, 1 << 24, 16777216.0),
        row(ElementType.FLOAT, Double.NEGATIVE_INFINITY, Double.NEGATIVE_INFINITY),
        row(ElementType.FLOAT, Double.NaN, Double.NaN),
        row(ElementType.DOUBLE, 0.1f, (double) 0.1f),
        row(ElementType.DOUBLE, 3L, 3.0),
        row(ElementType.BOOLEAN, true, 1.0),
        row(ElementType.BOOLEAN, 0, 0.0));
  }

  @ParameterizedTest
  @MethodSource("accepted")
  void aScalarReachesTheKernelAsTheDeclaredType(
      ElementType<?> type, Object value, double expected) {
    double[] out = new double[2];
    kernel(type).execute(arguments(out, value), LaunchRange.of(1));
    assertThat(out[0]).isEqualTo(Double.valueOf(expected));
  }

  private static Stream<org.junit.jupiter.params.provider.Arguments> refused() {
    return Stream.of(
        row(ElementType.INT, 2.75, "2.75 (Double)", "from -2147483648 to 2147483647"),
        row(ElementType.INT, 1L << 40, "1099511627776 (Long)", "2147483647"),
        row(ElementType.INT, Double.NaN, "NaN (Double)", "pass an integer"),
        row(ElementType.INT, 1e300, "1.0E300 (Double)", "pass an integer"),
        row(ElementType.INT, new BigDecimal("1e999999999"), "(BigDecimal)", "pass an integer"),
        row(ElementType.LONG, 0x1p63, "9.22", "from -"),
        row(
            ElementType.LONG,
            BigInteger.TWO.pow(100_000),
            "an integer of 100001 bits (BigInteger)",
            "from -"),
        row(ElementType.BYTE, 128, "128 (Integer)", "from -128 to 127"),
        row(ElementType.UNSIGNED_BYTE, 256, "256 (Integer)", "from 0 to 255"),
        row(ElementType.UNSIGNED_BYTE, -1, "-1 (Integer)", "from 0 to 255"),
        row(ElementType.UNSIGNED_LONG, BigInteger.ONE.shiftLeft(64), "(BigInteger)", "from 0 to"),
        row(ElementType.FLOAT, 1e300, "1.0E300 (Double)", "declare it DOUBLE"),
        row(ElementType.FLOAT, 16777217, "16777217 (Integer)", "pass a double if"),
        row(ElementType.DOUBLE, (1L << 53) + 1, "9007199254740993", "declare it LONG"),
        row(ElementType.BOOLEAN, 2, "2 (Integer)", "true or false"),
        row(ElementType.BOOLEAN, 0.5, "0.5 (Double)", "true or false"));
  }

  @ParameterizedTest
  @MethodSource("refused")
  void aScalarThatTheDeclaredTypeCannotHoldIsRefused(
      ElementType<?> type, Object value, String shown, String advice) {
    double[] out = {-5, -5};
    Kernel kernel = kernel(type);
    for (boolean async : new boolean[] {false, true}) {
      assertThatThrownBy(
              () -> {
                if (async) {
                  kernel.executeAsync(arguments(out, value), LaunchRange.of(1));
                } else {
                  kernel.execute(arguments(out, value), LaunchRange.of(1));
                }
              })
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContainingAll(
              "argument 'n' of the Java kernel is ", shown, "of type " + type, advice);
    }
    assertThat(out).containsOnly(-5);
  }

  @Test
  void wrongArgumentsAreToldWithKernelAndParameter() {
    Kernel kernel = kernel(ElementType.INT);
    double[] out = new double[2];
    Map.of(
            Arguments.of("out", out),
            "argument 'n' is missing; the Java kernel takes out, n",
            arguments(out, 1).with("m", 2).with("k", 3),
            "the Java kernel has no parameter [m, k]; the Java kernel takes out, n",
            arguments(out, new int[1]),
            "argument 'n' is an array, but the Java kernel takes a scalar of INT",
            Arguments.of("out", 1, "n", 1),
            "argument 'out' is a scalar, but the Java kernel takes an array of DOUBLE",
            Arguments.of("out", new float[2], "n", 1),
            "argument 'out' is of type float[], but the Java kernel takes an array of DOUBLE; pass"
                + " a double[], or a buffer of DOUBLE",
            Arguments.of("out", memory.copyOf(new float[2]), "n", 1),
            "argument 'out' is a buffer of FLOAT, but the Java kernel takes an array of DOUBLE;"
                + " pass a buffer of DOUBLE, because as(type) reads the same bytes and converts no"
                + " value")
        .forEach(
            (wrong, message) ->
                assertThatThrownBy(() -> kernel.execute(wrong))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(message));
  }

  @Test
  void aBufferOfTheOtherSignednessIsPassedByAView() {
    Kernel kernel =
        memory.compile(
            KernelSource.java(item -> {}, KernelParameter.inout("pixels", ElementType.BYTE)));
    UnifiedBuffer<byte[]> pixels = memory.allocate(ElementType.UNSIGNED_BYTE, 2);
    assertThatThrownBy(() -> kernel.execute(Arguments.of("pixels", pixels)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "argument 'pixels' is a buffer of UNSIGNED_BYTE, but the Java kernel takes an array of"
                + " BYTE; pass its as(ElementType.BYTE), the same bits");
    kernel.execute(Arguments.of("pixels", pixels.as(ElementType.BYTE)));
  }

  @Test
  void valuesWithoutNamesAreToldTheFormThatTakesThem() {
    float[] array = new float[2];
    String inOrder =
        "; Arguments.inOrder(...) takes values alone, for Java methods and hand-written kernels";
    assertThatThrownBy(() -> Arguments.of(array, array))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("argument 0 has a value of type float[] in place of its name" + inOrder);
    assertThatThrownBy(() -> Arguments.of("x", array, array))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("arguments are names and values in turn, but there are 3" + inOrder);
  }

  @Test
  void anArgumentWithAWrongNameIsToldBesideTheOneThatIsMissing() {
    Kernel axpy = memory.compile(KernelSource.elementwise("y = a * x + y"));
    float[] array = new float[2];
    assertThatThrownBy(() -> axpy.execute(Arguments.of("a", 1, "xs", array, "y", array)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("argument 'x' is missing; 'y = a * x + y' reads it, and has no [xs]");
  }

  @Test
  void aLengthThatOverflowedIsTold() {
    int rows = 50_000;
    assertThatThrownBy(() -> memory.allocate(ElementType.FLOAT, rows * 43_000))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "length is -2144967296, but a buffer has zero elements or more; compute a product that"
                + " exceeds an int in long");
  }
}
