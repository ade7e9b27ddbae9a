package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.tidepool.ElementType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ConversionsTest {
  private static final List<ElementType<?>> TYPES =
      List.of(
          ElementType.BYTE,
          ElementType.SHORT,
          ElementType.INT,
          ElementType.LONG,
          ElementType.FLOAT,
          ElementType.DOUBLE,
          ElementType.BOOLEAN);

  private static final double[] SPECIAL = {
    0,
    -0.0,
    1,
    -1,
    0.5,
    -0.5,
    127.9,
    -128.9,
    128,
    255.5,
    32767.5,
    32768,
    -32769,
    2147483647,
    2147483648.0,
    -2147483649.0,
    0x1p53,
    0x1p53 + 2,
    0x1p62,
    0x1p63,
    -0x1p63,
    0x1p64,
    1e300,
    -1e300,
    Double.MIN_VALUE,
    Float.MIN_VALUE,
    Double.MAX_VALUE,
    Double.NaN,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY,
    16777217,
    33554435
  };

  static Stream<Arguments> ways() {
    return TYPES.stream().flatMap(from -> TYPES.stream().map(to -> Arguments.of(from, to)));
  }

  @ParameterizedTest
  @MethodSource("ways")
  void everyElementIsCastAsJavaCasts(ElementType<?> from, ElementType<?> to) {
    long seed = Long.getLong("tidepool.test.seed", 42);
    System.out.println("seed " + seed);
    SplittableRandom random = new SplittableRandom(seed);
    // Often enough that compiled code, which differs from interpreted code, is seen too.
    for (int round = 0; round < 40; round++) {
      long count = round < 20 ? round : 1000 + random.nextInt(4000);
      for (Kinds.Pair kinds : (Iterable<Kinds.Pair>) Kinds.pairs()::iterator) {
        if (round % 5 != 0 && kinds.read() != Kinds.NATIVE) {
          continue;
        }
        try (Arena arena = Arena.ofConfined()) {
          MemorySegment source = kinds.read().allocate(arena, count * from.byteSize());
          MemorySegment target = kinds.written().allocate(arena, count * to.byteSize() + 8);
          randomElements(from, source, random);
          target.fill((byte) 0x5a);
          byte[] before = source.toArray(JAVA_BYTE);

          MemoryOperations.convert(from, source, to, target);

          for (long i = 0; i < count; i++) {
            if (bits(to, target, i) != expected(from, source, i, to)) {
              throw new AssertionError(
                  "%s to %s, %s, element %d of %d: %x became %x, not %x"
                      .formatted(
                          from,
                          to,
                          kinds,
                          i,
                          count,
                          bits(from, source, i),
                          bits(to, target, i),
                          expected(from, source, i, to)));
            }
          }
          assertThat(source.toArray(JAVA_BYTE)).isEqualTo(before);
          assertThat(target.get(JAVA_LONG_UNALIGNED, count * to.byteSize()))
              .isEqualTo(0x5a5a5a5a5a5a5a5aL);
        }
      }
    }
  }

  @Test
  void elementsOfOneSizeAreConvertedInPlaceAndOtherOverlapsRefused() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = Kinds.own(arena, 8000);
      for (int i = 0; i < 2000; i++) {
        memory.set(JAVA_INT_UNALIGNED, 4L * i, i - 1000);
      }
      MemoryOperations.convert(ElementType.INT, memory, ElementType.FLOAT, memory);
      for (int i = 0; i < 2000; i++) {
        assertThat(memory.get(JAVA_FLOAT_UNALIGNED, 4L * i)).isEqualTo(i - 1000);
      }

      assertThatIllegalArgumentException()
          .isThrownBy(
              () ->
                  MemoryOperations.convert(
                      ElementType.INT,
                      memory.asSlice(0, 4000),
                      ElementType.FLOAT,
                      memory.asSlice(4)))
          .withMessageContaining("overlap");
      assertThatIllegalArgumentException()
          .isThrownBy(
              () ->
                  MemoryOperations.convert(
                      ElementType.FLOAT, memory.asSlice(0, 4000), ElementType.DOUBLE, memory))
          .withMessageContaining("overlap");
    }
  }

  @Test
  void structsAndUnsignedElementsAreNotConverted() {
    MemorySegment memory = MemorySegment.ofArray(new int[4]);
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                MemoryOperations.convert(
                    ElementType.UNSIGNED_INT, memory, ElementType.FLOAT, memory))
        .withMessageContaining("UNSIGNED_INT");
  }

  private static void randomElements(
      ElementType<?> type, MemorySegment segment, SplittableRandom random) {
    long count = segment.byteSize() / type.byteSize();
    for (long i = 0; i < count; i++) {
      double special = SPECIAL[random.nextInt(SPECIAL.length)];
      boolean any = random.nextBoolean();
      long bits = random.nextLong() >> random.nextInt(64);
      switch (type.name()) {
        case "BYTE" -> segment.set(JAVA_BYTE, i, (byte) bits);
        case "BOOLEAN" -> segment.set(JAVA_BYTE, i, (byte) (any ? bits : bits & 1));
        case "SHORT" -> segment.set(JAVA_SHORT_UNALIGNED, i * 2, (short) bits);
        case "INT" -> segment.set(JAVA_INT_UNALIGNED, i * 4, any ? (int) bits : (int) special);
        case "LONG" -> segment.set(JAVA_LONG_UNALIGNED, i * 8, any ? bits : (long) special);
        case "FLOAT" ->
            segment.set(
                JAVA_FLOAT_UNALIGNED,
                i * 4,
                any
                    ? (float) random.nextDouble(-1e10, 1e10) / (1 + (bits & 0xffff))
                    : (float) special);
        default ->
            segment.set(
                JAVA_DOUBLE_UNALIGNED,
                i * 8,
                any ? random.nextDouble(-1e20, 1e20) / (1 + (bits & 0xffff_ffffL)) : special);
      }
    }
  }

  private static long bits(ElementType<?> type, MemorySegment segment, long i) {
    return switch ((int) type.byteSize()) {
      case 1 -> segment.get(JAVA_BYTE, i);
      case 2 -> segment.get(JAVA_SHORT_UNALIGNED, i * 2);
      case 4 -> segment.get(JAVA_INT_UNALIGNED, i * 4);
      default -> segment.get(JAVA_LONG_UNALIGNED, i * 8);
    };
  }

  private static long expected(
      ElementType<?> from, MemorySegment source, long i, ElementType<?> to) {
    return switch (from.name()) {
      case "BYTE" -> ofLong(source.get(JAVA_BYTE, i), to);
      case "BOOLEAN" -> ofLong(source.get(JAVA_BYTE, i) == 0 ? 0 : 1, to);
      case "SHORT" -> ofLong(source.get(JAVA_SHORT_UNALIGNED, i * 2), to);
      case "INT" -> ofLong(source.get(JAVA_INT_UNALIGNED, i * 4), to);
      case "LONG" -> ofLong(source.get(JAVA_LONG_UNALIGNED, i * 8), to);
      case "FLOAT" -> ofFloat(source.get(JAVA_FLOAT_UNALIGNED, i * 4), to);
      default -> ofDouble(source.get(JAVA_DOUBLE_UNALIGNED, i * 8), to);
    };
  }

  private static long ofLong(long value, ElementType<?> to) {
    return switch (to.name()) {
      case "BYTE" -> (byte) value;
      case "BOOLEAN" -> value != 0 ? 1 : 0;
      case "SHORT" -> (short) value;
      case "INT" -> (int) value;
      case "LONG" -> value;
      case "FLOAT" -> Float.floatToRawIntBits((float) value);
      default -> Double.doubleToRawLongBits((double) value);
    };
  }

  private static long ofFloat(float value, ElementType<?> to) {
    return switch (to.name()) {
      case "BYTE" -> (byte) value;
      case "BOOLEAN" -> value != 0 ? 1 : 0;
      case "SHORT" -> (short) value;
      case "INT" -> (int) value;
      case "LONG" -> (long) value;
      case "FLOAT" -> Float.floatToRawIntBits(value);
      default -> Double.doubleToRawLongBits((double) value);
    };
  }

  private static long ofDouble(double value, ElementType<?> to) {
    return switch (to.name()) {
      case "BYTE" -> (byte) value;
      case "BOOLEAN" -> value != 0 ? 1 : 0;
      case "SHORT" -> (short) value;
      case "INT" -> (int) value;
      case "LONG" -> (long) value;
      case "FLOAT" -> Float.floatToRawIntBits((float) value);
      default -> Double.doubleToRawLongBits(value);
    };
  }
}
