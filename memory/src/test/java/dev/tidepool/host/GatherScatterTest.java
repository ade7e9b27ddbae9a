package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class GatherScatterTest {
  private static final long SEED = Long.getLong("tidepool.test.seed", 11);

  private final SplittableRandom random = new SplittableRandom(SEED);

  /** Padded between and behind its components. */
  record Particle(byte kind, double mass, short charge, Place place) {}

  record Place(float x, float y) {}

  static Stream<Kinds.Pair> pairs() {
    return Kinds.pairs();
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void gatheredElementsAreThoseThatTheIndicesName(Kinds.Pair kinds) {
    System.out.println("seed " + SEED);
    for (int bytes : new int[] {1, 2, 3, 4, 8, 24}) {
      for (int count : new int[] {0, 1, 511, 1300}) {
        try (Arena arena = Arena.ofConfined()) {
          MemorySegment source = randomBytes(kinds.read().allocate(arena, 700L * bytes));
          long[] indices = random.longs(count, 0, 700).toArray();
          for (int way = 0; way < 4; way++) {
            MemorySegment target = kinds.written().allocate(arena, (long) count * bytes);
            switch (way) {
              case 0 -> MemoryOperations.gather(bytes, source, ints(indices), target);
              case 1 -> MemoryOperations.gather(bytes, source, indices, target);
              case 2 ->
                  MemoryOperations.gather(
                      bytes, source, ElementType.INT, misaligned(arena, indices, 4), target);
              default ->
                  MemoryOperations.gather(
                      bytes, source, ElementType.LONG, misaligned(arena, indices, 8), target);
            }
            for (int i = 0; i < count; i++) {
              assertThat(target.asSlice((long) i * bytes, bytes).toArray(JAVA_BYTE))
                  .isEqualTo(source.asSlice(indices[i] * bytes, bytes).toArray(JAVA_BYTE));
            }
          }
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void scatteredElementsGoWhereTheIndicesSayAndTheLastOneStays(Kinds.Pair kinds) {
    System.out.println("seed " + SEED);
    for (int bytes : new int[] {1, 2, 3, 4, 8, 24}) {
      int count = 1300;
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment source = randomBytes(kinds.read().allocate(arena, (long) count * bytes));
        long[] indices = random.longs(count, 0, 700).toArray();
        for (int way = 0; way < 3; way++) {
          MemorySegment target = kinds.written().allocate(arena, 705L * bytes);
          target.fill((byte) 0x77);
          byte[] expected = target.toArray(JAVA_BYTE);
          for (int i = 0; i < count; i++) {
            MemorySegment.copy(
                source, JAVA_BYTE, (long) i * bytes, expected, (int) indices[i] * bytes, bytes);
          }
          switch (way) {
            case 0 -> MemoryOperations.scatter(bytes, source, ints(indices), target);
            case 1 -> MemoryOperations.scatter(bytes, source, indices, target);
            default ->
                MemoryOperations.scatter(
                    bytes, source, ElementType.INT, misaligned(arena, indices, 4), target);
          }
          assertThat(target.toArray(JAVA_BYTE)).isEqualTo(expected);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, 4, Long.MAX_VALUE, Long.MIN_VALUE, 1L << 62})
  void anIndexOutOfRangeIsRefusedBeforeAnythingIsWritten(long wrong) {
    MemorySegment four = MemorySegment.ofArray(new int[] {1, 2, 3, 4});
    MemorySegment target = MemorySegment.ofArray(new int[] {9, 9, 9, 9});
    assertThatThrownBy(() -> MemoryOperations.gather(4, four, new long[] {0, wrong}, target))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageContaining("index " + wrong + ", at position 1, is not one of 4 elements");
    assertThatThrownBy(() -> MemoryOperations.scatter(4, four, new long[] {0, 1, 2, wrong}, target))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThat(target.toArray(JAVA_INT_UNALIGNED)).containsOnly(9);
  }

  @Test
  void gatherAndScatterSayWhatIsWrong() {
    int[] array = new int[8];
    MemorySegment memory = MemorySegment.ofArray(array);
    MemorySegment other = MemorySegment.ofArray(new int[8]);
    int[] indices = {1, 2, 3};
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.gather(0, memory, indices, other))
        .withMessageContaining("0 bytes");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.gather(-4, memory, indices, other));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.gather(4, memory, indices, memory))
        .withMessageContaining("overlap");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.gather(4, memory, ElementType.INT, other, other))
        .withMessageContaining("overlap");
    // Indices that are overwritten while they are used would lead anywhere.
    int[] ints = {3, 2, 1, 0};
    MemorySegment four = MemorySegment.ofArray(new int[] {7, 7, 7, 7});
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.scatter(4, four, ints, MemorySegment.ofArray(ints)))
        .withMessageContaining("overlap");
    assertThat(ints).containsExactly(3, 2, 1, 0);
    long[] longs = {3, 2, 1, 0};
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.gather(4, four, longs, MemorySegment.ofArray(longs)))
        .withMessageContaining("overlap");
    assertThat(longs).containsExactly(3, 2, 1, 0);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.gather(4, memory, ElementType.SHORT, other, other))
        .withMessageContaining("SHORT");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.scatter(4, memory, indices, other))
        .withMessageContaining("3 indices for the 8 elements");
    assertThatThrownBy(() -> MemoryOperations.gather(16, memory, new int[] {0, 1, 0}, other))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageContaining("3 elements of 16 bytes do not fit");
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void structsAreSplitIntoColumnsAndJoinedAgain(Kinds.Pair kinds) {
    ElementType<Particle[]> type = ElementType.struct(Particle.class, MethodHandles.lookup());
    for (int count : new int[] {0, 1, 1000}) {
      try (Arena arena = Arena.ofConfined()) {
        Particle[] particles = new Particle[count];
        for (int i = 0; i < count; i++) {
          particles[i] =
              new Particle(
                  (byte) i, random.nextDouble(), (short) (3 * i), new Place(i, random.nextInt()));
        }
        MemorySegment structs = kinds.read().allocate(arena, count * type.byteSize());
        type.write(particles, 0, structs, 0, count);
        MemorySegment[] columns = {
          kinds.written().allocate(arena, count),
          kinds.written().allocate(arena, 8L * count),
          kinds.written().allocate(arena, 2L * count),
          kinds.written().allocate(arena, 8L * count)
        };

        MemoryOperations.split(type, structs, columns);

        for (int i = 0; i < count; i++) {
          assertThat(columns[0].get(JAVA_BYTE, i)).isEqualTo(particles[i].kind());
          assertThat(columns[1].get(JAVA_LONG_UNALIGNED, 8L * i))
              .isEqualTo(Double.doubleToRawLongBits(particles[i].mass()));
          assertThat(columns[3].get(JAVA_INT_UNALIGNED, 8L * i + 4))
              .isEqualTo(Float.floatToRawIntBits(particles[i].place().y()));
        }
        MemorySegment again = kinds.read().allocate(arena, count * type.byteSize());
        MemoryOperations.join(type, again, columns);
        Particle[] read = new Particle[count];
        type.read(again, 0, read, 0, count);
        assertThat(read).isEqualTo(particles);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void nestedStructsAreTakenApartTooAndPaddingStays(Kinds.Pair kinds) {
    ElementType<Particle[]> type = ElementType.struct(Particle.class, MethodHandles.lookup());
    int[] offsets = {0, 8, 16, 20, 24};
    int[] sizes = {1, 8, 2, 4, 4};
    int size = (int) type.byteSize();
    for (int count : new int[] {0, 1, 3000}) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment structs = randomBytes(kinds.read().allocate(arena, (long) count * size));
        MemorySegment[] columns = new MemorySegment[sizes.length];
        for (int i = 0; i < sizes.length; i++) {
          columns[i] = kinds.written().allocate(arena, (long) count * sizes[i]);
        }

        MemoryOperations.split(type, structs, columns);

        MemorySegment again = kinds.read().allocate(arena, (long) count * size);
        again.fill((byte) 0x5a);
        byte[] expected = again.toArray(JAVA_BYTE);
        byte[] bytes = structs.toArray(JAVA_BYTE);
        for (int i = 0; i < sizes.length; i++) {
          byte[] column = columns[i].toArray(JAVA_BYTE);
          for (int at = 0; at < count; at++) {
            int from = at * size + offsets[i];
            assertThat(Arrays.copyOfRange(column, at * sizes[i], (at + 1) * sizes[i]))
                .isEqualTo(Arrays.copyOfRange(bytes, from, from + sizes[i]));
            System.arraycopy(bytes, from, expected, from, sizes[i]);
          }
        }
        MemoryOperations.join(type, again, columns);
        assertThat(again.toArray(JAVA_BYTE)).isEqualTo(expected);
      }
    }
  }

  @Test
  void aFieldIsReadAndWrittenAndItsNeighboursStay() {
    byte[] bytes = new byte[700 * 13];
    random.nextBytes(bytes);
    MemorySegment structs = MemorySegment.ofArray(bytes.clone());
    MemorySegment column = MemorySegment.ofArray(new byte[4 * 700 + 3]);

    MemoryOperations.readField(structs, 13, 5, 4, column);

    for (int i = 0; i < 700; i++) {
      assertThat(column.get(JAVA_INT_UNALIGNED, 4L * i))
          .isEqualTo(structs.get(JAVA_INT_UNALIGNED, 13L * i + 5));
    }
    MemorySegment written = MemorySegment.ofArray(new byte[bytes.length]);
    written.fill((byte) 1);
    MemoryOperations.writeField(column.asSlice(0, 4 * 700), written, 13, 5, 4);
    for (int i = 0; i < bytes.length; i++) {
      boolean field = i % 13 >= 5 && i % 13 < 9;
      assertThat(written.get(JAVA_BYTE, i)).isEqualTo(field ? bytes[i] : 1);
    }
  }

  @Test
  void fieldsOutsideOfTheirStructAndWrongColumnsAreRefused() {
    MemorySegment structs = MemorySegment.ofArray(new byte[26]);
    MemorySegment column = MemorySegment.ofArray(new byte[26]);
    for (long[] wrong :
        new long[][] {
          {13, 10, 4},
          {13, -1, 4},
          {13, 0, 14},
          {0, 0, 1},
          {-13, 0, 1},
          {Long.MIN_VALUE, 1, 1},
          {13, Long.MAX_VALUE, 4},
          {13, 4, Long.MAX_VALUE},
          {13, 0, 0},
          {13, 0, -1}
        }) {
      assertThatIllegalArgumentException()
          .as(Arrays.toString(wrong))
          .isThrownBy(
              () -> MemoryOperations.readField(structs, wrong[0], wrong[1], wrong[2], column));
      assertThatIllegalArgumentException()
          .as(Arrays.toString(wrong))
          .isThrownBy(
              () -> MemoryOperations.writeField(column, structs, wrong[0], wrong[1], wrong[2]));
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.readField(structs, 12, 0, 4, column))
        .withMessageContaining("26 bytes");
    ElementType<Place[]> type = ElementType.struct(Place.class, MethodHandles.lookup());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.split(type, structs.asSlice(0, 16), column))
        .withMessageContaining("1 columns for the 2 components");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                MemoryOperations.split(
                    type, structs.asSlice(0, 16), column.asSlice(0, 8), column.asSlice(4, 8)))
        .withMessageContaining("overlap");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> MemoryOperations.split(ElementType.INT, structs.asSlice(0, 16), column))
        .withMessageContaining("no components");
  }

  private MemorySegment randomBytes(MemorySegment segment) {
    for (long i = 0; i < segment.byteSize(); i++) {
      segment.set(JAVA_BYTE, i, (byte) random.nextInt());
    }
    return segment;
  }

  private static int[] ints(long[] indices) {
    return Arrays.stream(indices).mapToInt(Math::toIntExact).toArray();
  }

  private static MemorySegment misaligned(Arena arena, long[] indices, int bytes) {
    MemorySegment segment = Kinds.MISALIGNED.allocate(arena, (long) indices.length * bytes);
    for (int i = 0; i < indices.length; i++) {
      if (bytes == 4) {
        segment.set(JAVA_INT_UNALIGNED, 4L * i, (int) indices[i]);
      } else {
        segment.set(JAVA_LONG_UNALIGNED, 8L * i, indices[i]);
      }
    }
    return segment;
  }
}
