package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Loops by buffers, which programs without the Vector API's module have, do as blocks do. */
class WordTranspositionTest {
  private static final long SEED = Long.getLong("tidepool.test.seed", 19);

  private final SplittableRandom random = new SplittableRandom(SEED);
  private final WordTransposition loops = new WordTransposition();

  @Test
  void membersOfFourAndEightBytesGoToTheirPlacesAndBack() {
    System.out.println("seed " + SEED);
    List<StructFields.Member> mixed = new ArrayList<>();
    mixed.add(new StructFields.Member(0, 4));
    mixed.add(new StructFields.Member(4, 4));
    mixed.add(new StructFields.Member(8, 8));
    moved(16, mixed, true);
    moved(24, mixed, false);
    moved(20, mixed.subList(1, 2), false);
    // Eight bytes that do not begin at a multiple of eight.
    moved(12, List.of(new StructFields.Member(4, 8), new StructFields.Member(0, 4)), true);
    for (int bytes : new int[] {4, 8}) {
      for (int width = 1; width <= 8; width++) {
        List<StructFields.Member> members = new ArrayList<>();
        for (int i = 0; i < width; i++) {
          members.add(new StructFields.Member((long) i * bytes, bytes));
        }
        moved(width * bytes, members, true);
      }
    }
  }

  @Test
  void otherStructsAreLeftToBlocks() {
    try (Arena arena = Arena.ofConfined()) {
      long count = WordTransposition.FEWEST_STRUCTS;
      MemorySegment structs = arena.allocate(8 * count);
      MemorySegment[] columns = {arena.allocate(8 * count)};
      List<StructFields.Member> shorts = List.of(new StructFields.Member(0, 2));
      List<StructFields.Member> shifted = List.of(new StructFields.Member(2, 4));
      assertThat(loops.move(4, shorts, structs, columns, count, false)).isZero();
      assertThat(loops.move(8, shifted, structs, columns, count, false)).isZero();
      List<StructFields.Member> word = List.of(new StructFields.Member(0, 4));
      assertThat(loops.move(8, word, structs, columns, count - 1, false)).isZero();
      assertThat(loops.move(8, word, structs, columns, count, true)).isZero();
    }
  }

  /** Both ways, against one byte after the other. */
  private void moved(int structBytes, List<StructFields.Member> members, boolean full) {
    long count = WordTransposition.FEWEST_STRUCTS + 5;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment structs = randomBytes(arena, 1 + count * structBytes).asSlice(1);
      MemorySegment[] columns = new MemorySegment[members.size()];
      for (int i = 0; i < columns.length; i++) {
        columns[i] = arena.allocate(3 + count * members.get(i).bytes()).asSlice(3);
      }
      long done = loops.move(structBytes, members, structs, columns, count, false);
      assertThat(done).isBetween(count - 1, count);
      for (int c = 0; c < columns.length; c++) {
        long bytes = members.get(c).bytes();
        byte[] expected = new byte[(int) (count * bytes)];
        for (int i = 0; i < done; i++) {
          MemorySegment.copy(
              structs,
              JAVA_BYTE,
              (long) i * structBytes + members.get(c).offset(),
              expected,
              (int) (i * bytes),
              (int) bytes);
        }
        assertThat(columns[c].mismatch(MemorySegment.ofArray(expected)))
            .as("column %d of %d bytes in %s", c, structBytes, members)
            .isEqualTo(-1);
      }
      MemorySegment target = arena.allocate(7 + count * structBytes).asSlice(7);
      long joined = loops.move(structBytes, members, target, columns, count, true);
      assertThat(joined).isEqualTo(full ? done : 0);
      assertThat(
              target
                  .asSlice(0, joined * structBytes)
                  .mismatch(structs.asSlice(0, joined * structBytes)))
          .as("structs of %d bytes of %s", structBytes, members)
          .isEqualTo(-1);
    }
  }

  private MemorySegment randomBytes(Arena arena, long bytes) {
    byte[] content = new byte[(int) bytes];
    random.nextBytes(content);
    MemorySegment memory = arena.allocate(bytes, 8);
    MemorySegment.copy(content, 0, memory, JAVA_BYTE, 0, content.length);
    return memory;
  }
}
