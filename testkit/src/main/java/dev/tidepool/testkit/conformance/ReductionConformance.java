package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.stream.Reductions;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Buffers are reduced with NumPy's semantics in any location. */
public abstract class ReductionConformance extends Topic {
  // More elements than the chunks of several threads; not a multiple of any chunk.
  private static final int LENGTH = 700_003;

  private <A> UnifiedBuffer<A> holding(ElementType<A> type, MemoryLocation location, A array) {
    UnifiedBuffer<A> buffer = buffer(type, type.length(array), location);
    buffer.copyFrom(array);
    return buffer;
  }

  private <A> UnifiedBuffer<A> holding(ElementType<A> type, A array) {
    return holding(type, MemoryLocation.DEVICE, array);
  }

  /** Returns numbers whose sum is exact in double, the least and the greatest twice each. */
  private static float[] floats() {
    float[] values = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      values[i] = (i * 7919L % 2003 - 1000) / 4f;
    }
    values[12_345] = -1000;
    values[54_321] = -1000;
    values[234_567] = 2000;
    values[LENGTH - 1] = 2000;
    return values;
  }

  private static double sum(float[] values, int from, int to) {
    double sum = 0;
    for (int i = from; i < to; i++) {
      sum += values[i];
    }
    return sum;
  }

  @TestFactory
  Stream<DynamicTest> allElementsAreReducedFromEveryLocation() {
    float[] values = floats();
    double sum = sum(values, 0, LENGTH);
    return inEveryLocation(
        location -> {
          UnifiedBuffer<float[]> buffer = holding(ElementType.FLOAT, location, values);
          assertThat(Reductions.sum(buffer)).isEqualTo((float) sum);
          assertThat(Reductions.mean(buffer)).isEqualTo((float) (sum / LENGTH));
          assertThat(Reductions.min(buffer)).isEqualTo(-1000f);
          assertThat(Reductions.max(buffer)).isEqualTo(2000f);
          assertThat(Reductions.argMin(buffer)).isEqualTo(12_345);
          assertThat(Reductions.argMax(buffer)).isEqualTo(234_567);
          try (UnifiedBuffer<float[]> part = buffer.slice(12_346, 100_001)) {
            assertThat(Reductions.sum(part)).isEqualTo((float) sum(values, 12_346, 112_347));
            assertThat(Reductions.argMin(part)).isEqualTo(54_321 - 12_346);
          }
        });
  }

  @Test
  void whatAKernelWroteIsReducedAndAReductionIsNoWrite() {
    UnifiedBuffer<float[]> x = holding(ElementType.FLOAT, floats());
    UnifiedBuffer<float[]> y = buffer(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
    bench().assumeCompiler();
    memory().compile(KernelSource.elementwise("y = -x")).execute(Arguments.of("x", x, "y", y));
    assertThat(Reductions.argMax(y)).isEqualTo(12_345);
    assertThat(Reductions.max(y)).isEqualTo(1000f);
    float[] negated = contents(y);
    assertThat(negated[234_567]).isEqualTo(-2000f);
  }

  @TestFactory
  Stream<DynamicTest> rowsAreReducedShortAndLong() {
    float[] values = Arrays.copyOf(floats(), 700_000);
    return Stream.of(1, 7, 128, 1000, 1025, 175_000, 350_000, 700_000)
        .map(columns -> DynamicTest.dynamicTest(columns + " columns", () -> rows(values, columns)));
  }

  private void rows(float[] values, int columns) {
    int rows = values.length / columns;
    UnifiedBuffer<float[]> matrix =
        holding(ElementType.FLOAT, Arrays.copyOf(values, rows * columns));
    // Whole arrays are compared, because an assertion for each row would take most of the time.
    float[] sums = new float[rows];
    float[] means = new float[rows];
    float[] least = new float[rows];
    float[] greatest = new float[rows];
    long[] leastAt = new long[rows];
    long[] greatestAt = new long[rows];
    for (int row = 0; row < rows; row++) {
      int from = row * columns;
      double sum = sum(values, from, from + columns);
      sums[row] = (float) sum;
      means[row] = (float) (sum / columns);
      int low = 0;
      int high = 0;
      for (int i = 1; i < columns; i++) {
        low = values[from + i] < values[from + low] ? i : low;
        high = values[from + i] > values[from + high] ? i : high;
      }
      leastAt[row] = low;
      greatestAt[row] = high;
      least[row] = values[from + low];
      greatest[row] = values[from + high];
    }
    assertThat(Reductions.sum(matrix, rows, columns)).isEqualTo(sums);
    assertThat(Reductions.mean(matrix, rows, columns)).isEqualTo(means);
    assertThat(Reductions.min(matrix, rows, columns)).isEqualTo(least);
    assertThat(Reductions.max(matrix, rows, columns)).isEqualTo(greatest);
    assertThat(Reductions.argMin(matrix, rows, columns)).isEqualTo(leastAt);
    assertThat(Reductions.argMax(matrix, rows, columns)).isEqualTo(greatestAt);
  }

  @Test
  void whatIsNotANumberWins() {
    UnifiedBuffer<double[]> x =
        holding(
            ElementType.DOUBLE, new double[] {1, Double.POSITIVE_INFINITY, 0, 3, Double.NaN, 2});
    assertThat(Reductions.min(x)).isEqualTo(Double.NaN);
    assertThat(Reductions.max(x)).isEqualTo(Double.NaN);
    assertThat(Reductions.sum(x)).isEqualTo(Double.NaN);
    assertThat(Reductions.argMin(x)).isEqualTo(4);
    assertThat(Reductions.argMax(x)).isEqualTo(4);
    assertThat(Reductions.max(x, 2, 3)).containsExactly(Double.POSITIVE_INFINITY, Double.NaN);
    assertThat(Reductions.argMax(x, 2, 3)).containsExactly(1, 1);
  }

  @Test
  void everyElementTypeHasNumPysResult() {
    UnifiedBuffer<byte[]> bytes = holding(ElementType.BYTE, new byte[] {-128, 127, 100, 100});
    assertThat(Reductions.sum(bytes)).isEqualTo(199L);
    assertThat(Reductions.mean(bytes)).isEqualTo(49.75);
    assertThat((long[]) Reductions.sum(bytes, 2, 2)).containsExactly(-1, 200);
    assertThat((double[]) Reductions.mean(bytes, 2, 2)).containsExactly(-0.5, 100);
    assertThat(Reductions.max(bytes, 2, 2)).containsExactly(new byte[] {127, 100});
    UnifiedBuffer<byte[]> unsigned =
        holding(ElementType.UNSIGNED_BYTE, new byte[] {-128, 127, -1, 0});
    assertThat(Reductions.sum(unsigned)).isEqualTo(BigInteger.valueOf(510));
    assertThat(Reductions.argMax(unsigned)).isEqualTo(2);
    assertThat(Reductions.min(unsigned)).isEqualTo(0L);
    UnifiedBuffer<long[]> longs =
        holding(ElementType.LONG, new long[] {Long.MAX_VALUE, 1, Long.MIN_VALUE, 1L << 53});
    assertThat(Reductions.sum(longs)).isEqualTo(1L << 53);
    assertThat(Reductions.argMin(longs)).isEqualTo(2);
    UnifiedBuffer<long[]> wide = holding(ElementType.UNSIGNED_LONG, new long[] {5, -1, 7});
    assertThat(Reductions.max(wide)).isEqualTo(BigInteger.TWO.pow(64).subtract(BigInteger.ONE));
    assertThat(Reductions.argMin(wide)).isZero();
    UnifiedBuffer<boolean[]> truths =
        holding(ElementType.BOOLEAN, new boolean[] {false, true, true, false});
    assertThat(Reductions.sum(truths)).isEqualTo(2L);
    assertThat(Reductions.max(truths)).isEqualTo(1L);
    assertThat(Reductions.argMax(truths)).isEqualTo(1);
    assertThat(Reductions.min(truths, 2, 2)).containsExactly(false, false);
  }

  @Test
  void sumsOfDoublesArePairwise() {
    double[] values = new double[LENGTH];
    Arrays.fill(values, 0.1);
    UnifiedBuffer<double[]> x = holding(ElementType.DOUBLE, values);
    assertThat(Reductions.sum(x).doubleValue()).isCloseTo(LENGTH * 0.1, within(1e-10));
    double[] rows = (double[]) Reductions.sum(x, 1, LENGTH);
    assertThat(rows).containsExactly(Reductions.sum(x).doubleValue());
  }

  @Test
  void whatHasNoValueIsRefused() {
    UnifiedBuffer<float[]> none = buffer(ElementType.FLOAT, 0, MemoryLocation.DEVICE);
    assertThat(Reductions.sum(none)).isEqualTo(0f);
    assertThat(Reductions.mean(none)).isEqualTo(Float.NaN);
    assertThatThrownBy(() -> Reductions.min(none))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("min of no elements");
    assertThatThrownBy(() -> Reductions.argMax(none))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("argMax of no elements");
    assertThat((float[]) Reductions.sum(none, 3, 0)).containsExactly(0, 0, 0);
    assertThatThrownBy(() -> Reductions.max(none, 3, 0))
        .isInstanceOf(IllegalArgumentException.class);
    UnifiedBuffer<float[]> six = buffer(ElementType.FLOAT, 6, MemoryLocation.HOST);
    assertThatThrownBy(() -> Reductions.sum(six, 2, 2))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("a matrix of 2 rows and 2 columns, but the buffer has 6 elements");
    UnifiedBuffer<float[]> closed = memory().allocate(ElementType.FLOAT, 6);
    closed.close();
    assertThatThrownBy(() -> Reductions.sum(closed)).isInstanceOf(IllegalStateException.class);
  }
}
