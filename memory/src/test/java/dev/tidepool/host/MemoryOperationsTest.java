package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class MemoryOperationsTest {
  private static final long SEED = Long.getLong("tidepool.test.seed", 3);
  private static final int MIB = 1 << 20;

  private final SplittableRandom random = new SplittableRandom(SEED);

  static Stream<Kinds.Pair> pairs() {
    return Kinds.pairs();
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void aCopyHasTheBytesOfItsSourceAndLeavesTheOthers(Kinds.Pair kinds) {
    System.out.println("seed " + SEED);
    for (int bytes : new int[] {0, 1, 7, 64, 4097, 5 * MIB + 1}) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment source = randomBytes(kinds.read().allocate(arena, bytes));
        MemorySegment target = kinds.written().allocate(arena, bytes + 9L);
        target.fill((byte) 3);

        MemoryOperations.copy(source, 0, target, 5, bytes);

        assertThat(target.asSlice(5, bytes).mismatch(source)).isEqualTo(-1);
        assertThat(target.asSlice(0, 5).toArray(JAVA_BYTE)).containsOnly(3);
        assertThat(target.asSlice(bytes + 5L).toArray(JAVA_BYTE)).containsOnly(3);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Kinds.class)
  void overlappingRangesAreCopiedAsIfTheSourceWereReadFirst(Kinds kind) {
    for (int bytes : new int[] {100, 10_000, 4 * MIB}) {
      for (int shift : new int[] {-8, -1, 0, 1, 5, 64}) {
        try (Arena arena = Arena.ofConfined()) {
          MemorySegment memory = randomBytes(kind.allocate(arena, bytes + 64L));
          int from = Math.max(0, -shift);
          byte[] before = memory.asSlice(from, bytes - 64L).toArray(JAVA_BYTE);
          MemoryOperations.copy(memory, from, memory, from + (long) shift, bytes - 64L);
          assertThat(memory.asSlice(from + (long) shift, bytes - 64L).toArray(JAVA_BYTE))
              .isEqualTo(before);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Kinds.class)
  void everyPatternIsRepeatedToTheEnd(Kinds kind) {
    for (int elements : new int[] {0, 1, 2, 31, 32, 33, 1000, MIB + 77}) {
      try (Arena arena = Arena.ofConfined()) {
        for (int width : new int[] {1, 2, 4, 8}) {
          MemorySegment memory = kind.allocate(arena, (long) elements * width);
          long bits = random.nextLong();
          byte[] pattern =
              switch (width) {
                case 1 -> {
                  MemoryOperations.fill(memory, (byte) bits);
                  yield new byte[] {(byte) bits};
                }
                case 2 -> {
                  MemoryOperations.fill(memory, (short) bits);
                  yield order(2).putShort((short) bits).array();
                }
                case 4 -> {
                  MemoryOperations.fill(memory, (int) bits);
                  yield order(4).putInt((int) bits).array();
                }
                default -> {
                  MemoryOperations.fill(memory, bits);
                  yield order(8).putLong(bits).array();
                }
              };
          byte[] filled = memory.toArray(JAVA_BYTE);
          for (int i = 0; i < filled.length; i++) {
            if (filled[i] != pattern[i % width]) {
              throw new AssertionError(
                  "byte " + i + " of " + filled.length + ", pattern of " + width);
            }
          }
        }
      }
    }
  }

  @Test
  void aLargeFillReachesEveryByteAndNoOther() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = Kinds.own(arena, 21L * MIB + 3);
      for (long bytes : new long[] {8L * MIB - 1, 8L * MIB, 8L * MIB + 1, 21L * MIB + 1}) {
        memory.fill((byte) 1);
        MemoryOperations.fill(memory.asSlice(1, bytes), (byte) 9);
        assertThat(memory.get(JAVA_BYTE, 0)).isEqualTo((byte) 1);
        assertThat(memory.get(JAVA_BYTE, bytes + 1)).isEqualTo((byte) 1);
        for (long i = 1; i <= bytes; i++) {
          if (memory.get(JAVA_BYTE, i) != 9) {
            throw new AssertionError("byte " + i + " of " + bytes);
          }
        }
      }
    }
  }

  @Test
  void floatsAndDoublesAreFilledBitForBit() {
    MemorySegment memory = MemorySegment.ofArray(new long[100]);
    MemoryOperations.fill(memory, -0.0f);
    assertThat(memory.toArray(JAVA_FLOAT_UNALIGNED)).containsOnly(-0.0f);
    MemoryOperations.fill(memory, Math.PI);
    assertThat(memory.getAtIndex(JAVA_DOUBLE, 99)).isEqualTo(Math.PI);
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void theFirstDifferenceIsFoundWhereverItIs(Kinds.Pair kinds) {
    for (int bytes : new int[] {0, 1, 100, 8192, 8193, 100_000}) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment left = randomBytes(kinds.read().allocate(arena, bytes));
        MemorySegment right = kinds.written().allocate(arena, bytes + 3L);
        MemorySegment.copy(left, 0, right, 0, bytes);
        MemorySegment same = right.asSlice(0, bytes);
        assertThat(MemoryOperations.mismatch(left, same)).isEqualTo(-1);
        assertThat(MemoryOperations.equal(left, same)).isTrue();
        assertThat(MemoryOperations.compare(left, same)).isZero();
        assertThat(MemoryOperations.mismatch(left, right)).isEqualTo(bytes);
        assertThat(MemoryOperations.compare(left, right)).isNegative();
        assertThat(MemoryOperations.compare(right, left)).isPositive();
        for (int i = 0; i < 20 && bytes > 0; i++) {
          int at = i == 0 ? bytes - 1 : random.nextInt(bytes);
          byte old = right.get(JAVA_BYTE, at);
          right.set(JAVA_BYTE, at, (byte) (old ^ 0x80));
          assertThat(MemoryOperations.mismatch(left, same)).isEqualTo(at);
          assertThat(MemoryOperations.equal(left, same)).isFalse();
          // The one whose byte has its highest bit comes last.
          assertThat(Integer.signum(MemoryOperations.compare(left, same)))
              .isEqualTo(old < 0 ? 1 : -1);
          right.set(JAVA_BYTE, at, old);
        }
      }
    }
  }

  @Test
  void elementsAreOrderedByTheirType() {
    assertThat(order(ElementType.INT, new int[] {1, -1}, new int[] {1, 1})).isNegative();
    assertThat(order(ElementType.SHORT, new short[] {256}, new short[] {255})).isPositive();
    assertThat(order(ElementType.BYTE, new byte[] {-1}, new byte[] {1})).isNegative();
    assertThat(order(ElementType.LONG, new long[] {-1}, new long[] {1})).isNegative();
    assertThat(order(ElementType.FLOAT, new float[] {-0.0f}, new float[] {0.0f})).isNegative();
    assertThat(order(ElementType.FLOAT, new float[] {Float.NaN}, new float[] {1e30f})).isPositive();
    assertThat(order(ElementType.DOUBLE, new double[] {1, 2}, new double[] {1, 2, 0})).isNegative();
    assertThat(order(ElementType.DOUBLE, new double[] {-1}, new double[] {-2})).isPositive();
    float otherNaN = Float.intBitsToFloat(0x7fc00001);
    assertThat(order(ElementType.FLOAT, new float[] {Float.NaN, 1}, new float[] {otherNaN, 1}))
        .isZero();
    assertThat(order(ElementType.FLOAT, new float[] {Float.NaN, 2}, new float[] {otherNaN, 1}))
        .isPositive();
    assertThat(
            MemoryOperations.compare(
                ElementType.BOOLEAN,
                MemorySegment.ofArray(new byte[] {1, 0}),
                MemorySegment.ofArray(new byte[] {2, 1})))
        .isNegative();
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void swappedElementsHaveTheirBytesReversed(Kinds.Pair kinds) {
    System.out.println("seed " + SEED);
    for (int width : new int[] {2, 4, 8}) {
      for (int round = 0; round < 60; round++) {
        int count = round % 6 == 0 ? 70_001 : random.nextInt(2000);
        try (Arena arena = Arena.ofConfined()) {
          MemorySegment source = randomBytes(kinds.read().allocate(arena, (long) count * width));
          MemorySegment target = kinds.written().allocate(arena, (long) count * width + 1);
          byte[] expected = source.toArray(JAVA_BYTE);
          for (int i = 0; i < expected.length; i += width) {
            for (int j = 0; j < width / 2; j++) {
              byte moved = expected[i + j];
              expected[i + j] = expected[i + width - 1 - j];
              expected[i + width - 1 - j] = moved;
            }
          }
          MemoryOperations.swapBytes(width, source, target);
          assertThat(target.asSlice(0, expected.length).toArray(JAVA_BYTE)).isEqualTo(expected);
          MemoryOperations.swapBytes(width, source);
          assertThat(source.toArray(JAVA_BYTE)).isEqualTo(expected);
        }
      }
    }
  }

  @Test
  void badSizesAreRefused() {
    MemorySegment ten = MemorySegment.ofArray(new byte[10]);
    MemorySegment twenty = MemorySegment.ofArray(new byte[20]);
    for (long[] wrong :
        new long[][] {
          {-1, 0, 1},
          {0, -1, 1},
          {0, 0, -1},
          {0, 0, 11},
          {Long.MAX_VALUE, 0, 1},
          {0, 10, 11},
          {1, 0, Long.MAX_VALUE},
          {20, 0, 1},
          {Long.MIN_VALUE, 0, 0}
        }) {
      assertThatThrownBy(() -> MemoryOperations.copy(twenty, wrong[0], ten, wrong[1], wrong[2]))
          .as(Arrays.toString(wrong))
          .isInstanceOf(IndexOutOfBoundsException.class);
    }
    assertThatThrownBy(() -> MemoryOperations.copy(twenty, ten))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessage("20 bytes at offset 0 are not within the destination of 10 bytes");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.fill(ten, 1))
        .withMessage("the destination has 10 bytes, which is no multiple of an element's 4");
    for (int width : new int[] {-8, 0, 1, 3, 16}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> MemoryOperations.swapBytes(width, ten))
          .withMessageContaining("2, 4 or 8");
    }
    assertThatThrownBy(
            () -> MemoryOperations.convert(ElementType.SHORT, ten, ElementType.LONG, twenty))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessage("5 elements of 8 bytes do not fit into the destination of 20 bytes");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> MemoryOperations.swapBytes(2, twenty.asSlice(0, 10), twenty.asSlice(2, 10)))
        .withMessageContaining("overlap");
  }

  /** All that write, to {@code memory}. */
  private static List<Consumer<MemorySegment>> writing() {
    MemorySegment other = MemorySegment.ofArray(new int[4]);
    int[] indices = {0, 1, 2, 3};
    return List.of(
        memory -> MemoryOperations.copy(other, memory),
        memory -> MemoryOperations.fill(memory, (byte) 1),
        memory -> MemoryOperations.fill(memory, 1L),
        memory -> MemoryOperations.swapBytes(4, memory),
        memory -> MemoryOperations.convert(ElementType.INT, other, ElementType.FLOAT, memory),
        memory -> MemoryOperations.gather(4, other, indices, memory),
        memory -> MemoryOperations.scatter(4, other, indices, memory),
        memory -> MemoryOperations.readField(other, 4, 0, 4, memory),
        memory -> MemoryOperations.writeField(other, memory, 4, 0, 4));
  }

  /** All that read, from {@code memory}. */
  private static List<Consumer<MemorySegment>> reading() {
    MemorySegment other = MemorySegment.ofArray(new int[4]);
    int[] indices = {0, 1, 2, 3};
    return List.of(
        memory -> MemoryOperations.copy(memory, other),
        memory -> MemoryOperations.mismatch(other, memory),
        memory -> MemoryOperations.compare(ElementType.INT, memory, other),
        memory -> MemoryOperations.swapBytes(4, memory, other),
        memory -> MemoryOperations.convert(ElementType.INT, memory, ElementType.FLOAT, other),
        memory -> MemoryOperations.gather(4, memory, indices, other),
        memory ->
            MemoryOperations.gather(
                4, MemorySegment.ofArray(new int[4]), ElementType.INT, memory, other),
        memory -> MemoryOperations.scatter(4, memory, indices, other),
        memory -> MemoryOperations.sum(ElementType.FLOAT, memory),
        memory -> MemoryOperations.dotAsLong(ElementType.INT, other, memory),
        memory -> MemoryOperations.readField(memory, 4, 0, 4, other));
  }

  @Test
  void aReadOnlyDestinationIsRefused() {
    MemorySegment memory = MemorySegment.ofArray(new int[4]);
    for (Consumer<MemorySegment> operation : writing()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> operation.accept(memory.asReadOnly()))
          .withMessageContaining("read-only");
      operation.accept(memory);
    }
    for (Consumer<MemorySegment> operation : reading()) {
      operation.accept(memory.asReadOnly());
    }
  }

  @Test
  void aClosedSegmentIsRefused() {
    Arena arena = Arena.ofConfined();
    MemorySegment memory = arena.allocate(16);
    MemorySegment none = memory.asSlice(16);
    arena.close();
    for (Consumer<MemorySegment> operation : writing()) {
      assertThatIllegalStateException().isThrownBy(() -> operation.accept(memory));
      assertThatIllegalStateException().isThrownBy(() -> operation.accept(none));
    }
    for (Consumer<MemorySegment> operation : reading()) {
      assertThatIllegalStateException()
          .isThrownBy(() -> operation.accept(memory))
          .withMessageContaining("is closed");
      assertThatIllegalStateException().isThrownBy(() -> operation.accept(none));
    }
  }

  @Test
  void aSegmentOfAnotherThreadIsRefused() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(16);
      CompletableFuture.runAsync(
              () -> {
                for (Consumer<MemorySegment> operation : writing()) {
                  assertThatThrownBy(() -> operation.accept(memory))
                      .isInstanceOf(WrongThreadException.class)
                      .hasMessageContaining("shared");
                }
              })
          .join();
    }
  }

  private MemorySegment randomBytes(MemorySegment segment) {
    byte[] bytes = new byte[(int) segment.byteSize()];
    random.nextBytes(bytes);
    MemorySegment.copy(bytes, 0, segment, JAVA_BYTE, 0, bytes.length);
    return segment;
  }

  private static ByteBuffer order(int width) {
    return ByteBuffer.allocate(width).order(ByteOrder.nativeOrder());
  }

  private static <A> int order(ElementType<A> type, A left, A right) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment l = arena.allocate(type.length(left) * type.byteSize());
      MemorySegment r = arena.allocate(type.length(right) * type.byteSize());
      type.write(left, 0, l, 0, type.length(left));
      type.write(right, 0, r, 0, type.length(right));
      return MemoryOperations.compare(type, l, r);
    }
  }

  /** Large fills are the C library's where it may touch the bytes. */
  @Test
  void aLargeFillSetsEveryByteAndNoOther() {
    long bytes = (9 << 20) + 3;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment all = Kinds.own(arena, bytes + 2);
      MemoryOperations.fill(all.asSlice(1, bytes), (byte) -91);
      assertThat(all.get(JAVA_BYTE, 0)).isZero();
      assertThat(all.get(JAVA_BYTE, bytes + 1)).isZero();
      for (long i = 1; i <= bytes; i++) {
        if (all.get(JAVA_BYTE, i) != -91) {
          throw new AssertionError("byte " + i + " is not set");
        }
      }
    }
    MemorySegment onHeap = MemorySegment.ofArray(new byte[9 << 20]);
    MemoryOperations.fill(onHeap, (byte) 7);
    assertThat((byte[]) onHeap.heapBase().orElseThrow()).containsOnly(7);
  }
}
