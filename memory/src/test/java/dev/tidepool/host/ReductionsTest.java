package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import dev.tidepool.ElementType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.DoubleStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ReductionsTest {
  private static final long SEED = Long.getLong("tidepool.test.seed", 7);
  private static final int[] COUNTS = {0, 1, 15, 16, 17, 255, 256, 511, 4095, 4096, 4097, 100_003};

  private final SplittableRandom random = new SplittableRandom(SEED);

  @ParameterizedTest
  @EnumSource(Kinds.class)
  void floatingPointElementsAreReducedInTheDocumentedOrder(Kinds kind) {
    System.out.println("seed " + SEED);
    for (int round = 0; round < 60; round++) {
      int count = COUNTS[round % COUNTS.length];
      try (Arena arena = Arena.ofConfined()) {
        double[] values = random.doubles(count, -1e3, 1e9).toArray();
        double[] factors = random.doubles(count, -1e3, 1e3).toArray();
        MemorySegment doubles = kind.allocate(arena, 8L * count);
        MemorySegment others = kind.allocate(arena, 8L * count);
        MemorySegment floats = kind.allocate(arena, 4L * count);
        double[] narrow = new double[count];
        for (int i = 0; i < count; i++) {
          doubles.set(JAVA_DOUBLE_UNALIGNED, 8L * i, values[i]);
          others.set(JAVA_DOUBLE_UNALIGNED, 8L * i, factors[i]);
          floats.set(JAVA_FLOAT_UNALIGNED, 4L * i, (float) values[i]);
          narrow[i] = (float) values[i];
          factors[i] *= values[i];
        }

        assertThat(MemoryOperations.sum(ElementType.DOUBLE, doubles)).isEqualTo(sum(values));
        assertThat(MemoryOperations.sum(ElementType.FLOAT, floats)).isEqualTo(sum(narrow));
        assertThat(MemoryOperations.dot(ElementType.DOUBLE, doubles, others))
            .isEqualTo(sum(factors));
        assertThat(MemoryOperations.dot(ElementType.FLOAT, floats, floats))
            .isEqualTo(sum(DoubleStream.of(narrow).map(x -> x * x).toArray()));
        if (count > 0) {
          assertThat(MemoryOperations.min(ElementType.DOUBLE, doubles))
              .isEqualTo(DoubleStream.of(values).min().orElseThrow());
          assertThat(MemoryOperations.max(ElementType.DOUBLE, doubles))
              .isEqualTo(DoubleStream.of(values).max().orElseThrow());
          assertThat(MemoryOperations.min(ElementType.FLOAT, floats))
              .isEqualTo(DoubleStream.of(narrow).min().orElseThrow());
          assertThat(MemoryOperations.max(ElementType.FLOAT, floats))
              .isEqualTo(DoubleStream.of(narrow).max().orElseThrow());
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Kinds.class)
  void integersAreReducedModuloTwoToThe64th(Kinds kind) {
    System.out.println("seed " + SEED);
    for (int round = 0; round < 60; round++) {
      int count = COUNTS[round % COUNTS.length];
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment memory = kind.allocate(arena, 8L * count);
        for (int i = 0; i < count; i++) {
          memory.set(JAVA_LONG_UNALIGNED, 8L * i, random.nextLong());
        }
        check(ElementType.BYTE, memory, i -> memory.get(JAVA_BYTE, i));
        check(ElementType.BOOLEAN, memory, i -> memory.get(JAVA_BYTE, i) == 0 ? 0 : 1);
        check(ElementType.SHORT, memory, i -> memory.get(JAVA_SHORT_UNALIGNED, 2 * i));
        check(ElementType.INT, memory, i -> memory.get(JAVA_INT_UNALIGNED, 4 * i));
        check(ElementType.LONG, memory, i -> memory.get(JAVA_LONG_UNALIGNED, 8 * i));
      }
    }
  }

  @Test
  void aSumOfManyStaysWithinItsErrorBound() {
    int count = 300_001;
    MemorySegment memory = MemorySegment.ofArray(random.doubles(count, 0, 1).toArray());
    BigDecimal exact = BigDecimal.ZERO;
    for (int i = 0; i < count; i++) {
      exact = exact.add(new BigDecimal(memory.getAtIndex(JAVA_DOUBLE_UNALIGNED, i)));
    }

    double bound = (260 + Math.log(count / 4096.0) / Math.log(2)) * 0x1p-53 * exact.doubleValue();
    assertThat(MemoryOperations.sum(ElementType.DOUBLE, memory))
        .isCloseTo(exact.doubleValue(), within(bound));
  }

  @ParameterizedTest
  @EnumSource(Kinds.class)
  void notANumberIsTheLeastAndTheGreatestAndMinusZeroIsLessThanZero(Kinds kind) {
    try (Arena arena = Arena.ofConfined()) {
      for (int at : new int[] {0, 1, 300, 999}) {
        MemorySegment memory = kind.allocate(arena, 8000);
        memory.set(JAVA_DOUBLE_UNALIGNED, 8L * at, -0.0);
        assertThat(MemoryOperations.min(ElementType.DOUBLE, memory)).isEqualTo(-0.0);
        assertThat(MemoryOperations.max(ElementType.DOUBLE, memory)).isEqualTo(0.0);
        memory.set(JAVA_DOUBLE_UNALIGNED, 8L * at, Double.NaN);
        assertThat(MemoryOperations.min(ElementType.DOUBLE, memory)).isNaN();
        assertThat(MemoryOperations.max(ElementType.DOUBLE, memory)).isNaN();
        assertThat(MemoryOperations.sum(ElementType.DOUBLE, memory)).isNaN();
      }
    }
  }

  @Test
  void whatCannotBeReducedIsSaid() {
    MemorySegment eight = MemorySegment.ofArray(new long[8]);
    MemorySegment none = MemorySegment.ofArray(new long[0]);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.sum(ElementType.INT, eight))
        .withMessageContaining("AsLong");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.sumAsLong(ElementType.FLOAT, eight))
        .withMessageContaining("FLOAT");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.sum(ElementType.UNSIGNED_INT, eight));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.min(ElementType.DOUBLE, none))
        .withMessageContaining("empty");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.dot(ElementType.DOUBLE, eight, none))
        .withMessageContaining("64 and 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.sum(ElementType.DOUBLE, eight.asSlice(3)))
        .withMessageContaining("61 bytes");
  }

  private interface Element {
    long at(long index);
  }

  private static void check(ElementType<?> type, MemorySegment memory, Element element) {
    long[] values =
        LongStream.range(0, memory.byteSize() / type.byteSize()).map(element::at).toArray();
    assertThat(MemoryOperations.sumAsLong(type, memory)).isEqualTo(LongStream.of(values).sum());
    assertThat(MemoryOperations.dotAsLong(type, memory, memory))
        .isEqualTo(LongStream.of(values).map(x -> x * x).sum());
    if (values.length > 0) {
      assertThat(MemoryOperations.minAsLong(type, memory))
          .isEqualTo(LongStream.of(values).min().orElseThrow());
      assertThat(MemoryOperations.maxAsLong(type, memory))
          .isEqualTo(LongStream.of(values).max().orElseThrow());
    }
  }

  /** The order that is documented, in the fewest words: no blocks, no counter, but recursion. */
  private static double sum(double[] values) {
    int blocks = (values.length + 4095) / 4096;
    if (blocks == 0) {
      return 0;
    }
    if (blocks == 1) {
      double[] lanes = new double[16];
      for (int i = 0; i < values.length; i++) {
        lanes[i % 16] += values[i];
      }
      for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
          lanes[i] += lanes[i + half];
        }
      }
      return lanes[0];
    }
    int left = Integer.highestOneBit(blocks - 1) * 4096;
    return sum(Arrays.copyOf(values, left)) + sum(Arrays.copyOfRange(values, left, values.length));
  }
}
