package dev.tidepool.runtime.storage;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.BitSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

/** Dirty ranges are a set of bytes, kept as few ranges. */
final class DirtyRangesTest {
  private static final int SIZE = 200;

  @Test
  void adjacentRangesBecomeOne() {
    DirtyRanges ranges = new DirtyRanges(SIZE);
    ranges.add(0, 10);
    ranges.add(20, 30);
    ranges.add(10, 20);
    assertThat(ranges.within(0, SIZE)).containsExactly(new DirtyRanges.Range(0, 30));
  }

  @Test
  void removingTheMiddleLeavesBothEnds() {
    DirtyRanges ranges = new DirtyRanges(SIZE);
    ranges.add(0, 30);
    ranges.remove(10, 20);
    assertThat(ranges.within(0, SIZE))
        .containsExactly(new DirtyRanges.Range(0, 10), new DirtyRanges.Range(20, 30));
  }

  @Test
  void emptyRangesChangeNothing() {
    DirtyRanges ranges = new DirtyRanges(SIZE);
    ranges.add(5, 5);
    ranges.remove(3, 3);
    assertThat(ranges.isEmpty()).isTrue();
    assertThat(ranges.intersects(0, SIZE)).isFalse();
  }

  @RepeatedTest(200)
  void anySequenceOfAddsAndRemovesEqualsASetOfBytes(RepetitionInfo repetition) {
    Random random = new Random(repetition.getCurrentRepetition());
    DirtyRanges ranges = new DirtyRanges(SIZE);
    BitSet model = new BitSet(SIZE);
    for (int step = 0; step < 60; step++) {
      int a = random.nextInt(SIZE + 1);
      int b = random.nextInt(SIZE + 1);
      int from = Math.min(a, b);
      int to = Math.max(a, b);
      if (random.nextInt(3) > 0) {
        ranges.add(from, to);
        model.set(from, to);
      } else {
        ranges.remove(from, to);
        model.clear(from, to);
      }
      check(ranges, model, random);
    }
  }

  private static void check(DirtyRanges ranges, BitSet model, Random random) {
    BitSet seen = new BitSet(SIZE);
    List<DirtyRanges.Range> all = ranges.within(0, SIZE);
    for (int i = 0; i < all.size(); i++) {
      seen.set((int) all.get(i).from(), (int) all.get(i).to());
      assertThat(i == 0 || all.get(i - 1).to() < all.get(i).from()).as("disjoint").isTrue();
    }
    assertThat(seen).isEqualTo(model);
    int from = random.nextInt(SIZE);
    int to = from + random.nextInt(SIZE - from);
    BitSet part = model.get(from, to);
    assertThat(ranges.intersects(from, to)).isEqualTo(!part.isEmpty());
    assertThat(ranges.isAll()).isEqualTo(model.cardinality() == SIZE);
    assertThat(ranges.isEmpty()).isEqualTo(model.isEmpty());
  }
}
