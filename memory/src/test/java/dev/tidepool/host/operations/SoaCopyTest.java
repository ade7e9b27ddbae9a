package dev.tidepool.host.operations;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.host.Kinds;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class SoaCopyTest {
  private static final long SEED = Long.getLong("tidepool.test.seed", 17);

  /**
   * Bytes before and behind every segment, so that they start anywhere and nothing else changes.
   */
  private static final int MARGIN = 67;

  private final SplittableRandom random = new SplittableRandom(SEED);

  static Stream<Kinds.Pair> pairs() {
    return Kinds.pairs();
  }

  /** Structs and their members, in bytes. */
  private record Layout(int structBytes, List<StructFields.Member> members) {
    /** So many members of one size and nothing else. */
    static Layout of(int width, int bytes) {
      List<StructFields.Member> members = new ArrayList<>();
      for (int i = 0; i < width; i++) {
        members.add(new StructFields.Member((long) i * bytes, bytes));
      }
      return new Layout(width * bytes, members);
    }

    SoaCopy moves(long count) {
      return new SoaCopy(structBytes, members, count);
    }

    /** The structs that fill a block of the heap, or nearly so. */
    int block() {
      return Math.max(1, 8192 / structBytes);
    }
  }

  private Layout randomLayout() {
    int[] sizes = {1, 2, 4, 8, 1, 2, 4, 8, 3, 12};
    List<StructFields.Member> members = new ArrayList<>();
    long offset = 0;
    for (int i = random.nextInt(1, 7); i > 0; i--) {
      offset += random.nextInt(3) == 0 ? random.nextInt(5) : 0;
      int bytes = sizes[random.nextInt(sizes.length)];
      members.add(new StructFields.Member(offset, bytes));
      offset += bytes;
    }
    offset += random.nextInt(3) == 0 ? random.nextInt(9) : 0;
    return new Layout((int) offset, members);
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void everyMemberGoesToItsPlaceInAnyLayout(Kinds.Pair kinds) {
    System.out.println("seed " + SEED);
    for (int round = 0; round < 60; round++) {
      Layout layout = randomLayout();
      int block = layout.block();
      int[] counts = {0, 1, 2, block - 1, block, block + 1, random.nextInt(3 * block)};
      splitAndJoin(kinds, layout, counts[round % counts.length]);
    }
  }

  @ParameterizedTest
  @MethodSource("pairs")
  void everyMemberOfSmallUniformStructsGoesToItsPlace(Kinds.Pair kinds) {
    for (int bytes : new int[] {1, 2, 4, 8}) {
      for (int width = 1; width <= 9; width++) {
        splitAndJoin(kinds, Layout.of(width, bytes), 4096 + 3 * width);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {4095, 4096, 4097, 4111, 6000})
  void wordsOfSeveralSizesAndPaddingGoToTheirPlaces(int count) {
    Kinds.Pair natives = new Kinds.Pair(Kinds.NATIVE, Kinds.NATIVE);
    StructFields.Member word = new StructFields.Member(8, 8);
    StructFields.Member half = new StructFields.Member(4, 4);
    splitAndJoin(natives, new Layout(16, List.of(half, word)), count);
    splitAndJoin(natives, new Layout(24, List.of(word, half)), count);
    splitAndJoin(natives, new Layout(20, List.of(half)), count);
    splitAndJoin(natives, Layout.of(5, 4), count);
    // Members in another order, the long one not at a multiple of its size.
    StructFields.Member shifted = new StructFields.Member(4, 8);
    splitAndJoin(natives, new Layout(12, List.of(shifted, new StructFields.Member(0, 4))), count);
  }

  /** Both ways, against one byte after the other, with random bytes everywhere else. */
  private void splitAndJoin(Kinds.Pair kinds, Layout layout, int count) {
    try (Arena arena = Arena.ofConfined()) {
      int size = layout.structBytes;
      int shift = random.nextInt(MARGIN);
      MemorySegment source =
          randomBytes(kinds.read().allocate(arena, MARGIN + (long) count * size));
      MemorySegment structs = source.asSlice(shift, (long) count * size);
      MemorySegment target = randomBytes(kinds.written().allocate(arena, source.byteSize()));
      byte[] joined = target.toArray(JAVA_BYTE);
      int columnCount = layout.members.size();
      MemorySegment[] around = new MemorySegment[columnCount];
      MemorySegment[] columns = new MemorySegment[columnCount];
      byte[][] expected = new byte[columnCount][];
      byte[] read = structs.toArray(JAVA_BYTE);
      for (int c = 0; c < columnCount; c++) {
        int bytes = (int) layout.members.get(c).bytes();
        int offset = (int) layout.members.get(c).offset();
        around[c] = randomBytes(kinds.written().allocate(arena, MARGIN + (long) count * bytes));
        columns[c] = around[c].asSlice(shift, (long) count * bytes);
        expected[c] = around[c].toArray(JAVA_BYTE);
        for (int i = 0; i < count; i++) {
          System.arraycopy(read, i * size + offset, expected[c], shift + i * bytes, bytes);
          System.arraycopy(read, i * size + offset, joined, shift + i * size + offset, bytes);
        }
      }

      layout.moves(count).split(structs, columns);

      for (int c = 0; c < columnCount; c++) {
        assertThat(around[c].mismatch(MemorySegment.ofArray(expected[c])))
            .as("column %d of %d structs of %s", c, count, layout)
            .isEqualTo(-1);
      }

      layout.moves(count).join(columns, target.asSlice(shift, (long) count * size));

      assertThat(target.mismatch(MemorySegment.ofArray(joined)))
          .as("%d structs of %s", count, layout)
          .isEqualTo(-1);
    }
  }

  private MemorySegment randomBytes(MemorySegment memory) {
    byte[] bytes = new byte[(int) memory.byteSize()];
    random.nextBytes(bytes);
    MemorySegment.copy(bytes, 0, memory, JAVA_BYTE, 0, bytes.length);
    return memory;
  }
}
