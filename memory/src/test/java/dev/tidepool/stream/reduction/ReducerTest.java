package dev.tidepool.stream.reduction;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.stream.chunk.ChunkScheduler;
import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReducerTest {
  private static final long SEED = Long.getLong("tidepool.test.seed", 20_261_121);

  private static Reducer folding(String call, ScalarType type, long length) {
    Reduction reduction = Expression.parseReducing("s = " + call).reductions().getFirst();
    return Reducer.of(reduction, type, length, Map.of());
  }

  private static double[] values(Random random, int count) {
    double[] values = new double[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextGaussian() * Math.pow(10, random.nextInt(-12, 12));
    }
    return values;
  }

  /** Ranges that begin at multiples of 1024 and cover all, in a random order. */
  private static List<ChunkScheduler.Range> ranges(Random random, int length) {
    List<ChunkScheduler.Range> ranges = new ArrayList<>();
    for (long at = 0; at < length; ) {
      long count = Math.min(1024L * random.nextInt(1, 40), length - at);
      ranges.add(new ChunkScheduler.Range(at, count));
      at += count;
    }
    Collections.shuffle(ranges, random);
    return ranges;
  }

  private static Object folded(
      Reducer folding, double[] values, List<ChunkScheduler.Range> ranges) {
    MemorySegment all = MemorySegment.ofArray(values);
    ranges.parallelStream()
        .forEach(
            range -> folding.write(range.from(), all.asSlice(range.from() * 8, range.count() * 8)));
    return folding.value();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 1023, 1024, 1025, 100_000, 1_000_003})
  void aSumIsTheSameToTheLastBitWhateverTheRangesAndThreads(int length) {
    Random random = new Random(SEED);
    double[] values = values(random, length);
    Object whole =
        folded(
            folding("sum(x)", ScalarType.FLOAT64, length),
            values,
            List.of(new ChunkScheduler.Range(0, length)));
    for (int i = 0; i < 20; i++) {
      List<ChunkScheduler.Range> ranges = ranges(random, length);

      assertThat(folded(folding("sum(x)", ScalarType.FLOAT64, length), values, ranges))
          .as("seed " + SEED + ", ranges " + ranges)
          .isEqualTo(whole);
    }
    BigDecimal exact = BigDecimal.ZERO;
    double magnitude = 0;
    for (double value : values) {
      exact = exact.add(new BigDecimal(value));
      magnitude += Math.abs(value);
    }
    double depth = 14 + Math.max(0, Math.log(length / 1024.0) / Math.log(2));
    assertThat((double) whole)
        .isCloseTo(
            exact.doubleValue(),
            within(depth * 0x1p-53 * magnitude + Math.ulp(exact.doubleValue())));
  }

  @Test
  void aRangeThatComesTwiceIsNoticedBySums() {
    Reducer sum = folding("sum(x)", ScalarType.FLOAT64, 2048);
    sum.write(1024, MemorySegment.ofArray(new double[1024]));

    assertThatThrownBy(() -> sum.write(1024, MemorySegment.ofArray(new double[1024])))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("from 1024 on came twice");
  }

  @Test
  void sumsTakeRangesFromWholeBlocksOnly() {
    Reducer sum = folding("sum(x)", ScalarType.FLOAT64, 4096);

    assertThatThrownBy(() -> sum.write(512, MemorySegment.ofArray(new double[1024])))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("from multiples of 1024");
    assertThatThrownBy(() -> sum.write(0, MemorySegment.ofArray(new double[1000])))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("to multiples of 1024");
  }

  @Test
  void sumsOfUnsignedAndOfSignedIntegersWrapAsNumPyHasIt() {
    Reducer unsigned = folding("sum(x)", ScalarType.UINT64, 2);
    unsigned.write(0, MemorySegment.ofArray(new long[] {-1, 3}));
    Reducer signed = folding("sum(x)", ScalarType.INT64, 2);
    signed.write(0, MemorySegment.ofArray(new long[] {Long.MAX_VALUE, 1}));
    Reducer bytes = folding("sum(x)", ScalarType.UINT8, 3);
    bytes.write(0, MemorySegment.ofArray(new byte[] {-1, -1, 2}));

    assertThat(unsigned.value()).hasToString("2");
    assertThat(signed.value()).isEqualTo(Long.MIN_VALUE);
    assertThat(bytes.value()).hasToString("512");
  }

  @Test
  void theGreatestUnsignedIsNotNegative() {
    Reducer greatest = folding("max(x)", ScalarType.UINT64, 3);
    greatest.write(0, MemorySegment.ofArray(new long[] {1, -2, 5}));
    Reducer least = folding("min(x)", ScalarType.UINT64, 3);
    least.write(0, MemorySegment.ofArray(new long[] {-1, -2, 5}));

    assertThat(greatest.value()).hasToString("18446744073709551614");
    assertThat(least.value()).hasToString("5");
  }

  @Test
  void anUnsignedIntegerBecomesTheNearestDouble() {
    Reducer mean = folding("mean(x)", ScalarType.UINT64, 1);
    // 2^63 + 1025 lies beyond the middle between two doubles by its last bit alone.
    mean.write(0, MemorySegment.ofArray(new long[] {Long.MIN_VALUE + 1025}));

    assertThat(mean.value()).isEqualTo(0x1p63 + 2048);
  }

  @Test
  void countsAreThoseOfAllThreads() {
    Random random = new Random(SEED);
    double[] values = new double[300_000];
    long[] expected = new long[10];
    for (int i = 0; i < values.length; i++) {
      values[i] = random.nextDouble() * 12 - 1;
      if (values[i] >= 0 && values[i] <= 10) {
        expected[Math.min(9, (int) values[i])]++;
      }
    }
    Reducer histogram = folding("histogram(x, 10, 0, 10)", ScalarType.FLOAT64, values.length);

    assertThat((long[]) folded(histogram, values, ranges(random, values.length)))
        .containsExactly(expected);
  }

  @Test
  void extremesOfNothingAreRefused() {
    assertThatThrownBy(() -> folding("max(x)", ScalarType.FLOAT32, 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("max of no elements");
    assertThat(folding("sum(x)", ScalarType.FLOAT32, 0).value()).isEqualTo(0f);
    assertThat(folding("mean(x)", ScalarType.INT32, 0).value()).isEqualTo(Double.NaN);
  }

  @Test
  void edgesOfFloatsAreRoundedOnlyWhenTheyAreKnown() {
    // As NumPy counts them; with bounds that were rounded before, neighbours differ.
    Reducer tenths = folding("histogram(x, 10, 0, 0.1)", ScalarType.FLOAT32, 101);
    tenths.write(0, MemorySegment.ofArray(new float[] {0.03f}));
    float[] thousandths = new float[100];
    float[] hundredths = new float[100];
    for (int i = 0; i < 100; i++) {
      thousandths[i] = (float) (i / 1000.0);
      hundredths[i] = (float) (i / 100.0);
    }
    tenths.write(1, MemorySegment.ofArray(thousandths));
    Reducer inner = folding("histogram(x, 10, 0.1, 0.7)", ScalarType.FLOAT32, 100);
    inner.write(0, MemorySegment.ofArray(hundredths));

    assertThat((long[]) tenths.value()).containsExactly(10, 10, 10, 11, 10, 10, 10, 10, 10, 10);
    assertThat((long[]) inner.value()).containsExactly(6, 6, 6, 6, 6, 6, 6, 6, 6, 7);
  }

  @Test
  void aRangeWiderThanDoublesAreIsToldAsTooWide() {
    assertThatThrownBy(() -> folding("histogram(x, 2, -1.7e308, 1.7e308)", ScalarType.FLOAT64, 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("too wide for float64");
  }

  @Test
  void aBoundThatTheTypeDoesNotHoldIsRefused() {
    for (String range : List.of("-1e300, 0", "0, 1e300")) {
      assertThatThrownBy(() -> folding("histogram(x, 2, " + range + ")", ScalarType.FLOAT32, 1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("must be finite");
    }
  }
}
