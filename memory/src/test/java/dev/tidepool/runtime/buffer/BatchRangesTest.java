package dev.tidepool.runtime.buffer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.BitSet;
import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

/** Written ranges are a set of bytes. */
final class BatchRangesTest {
  private static final int SIZE = 500;

  @Test
  void adjacentRangesDoNotIntersect() {
    BatchRanges written = new BatchRanges();
    written.add(10, 20);
    assertThat(written.intersects(0, 10)).isFalse();
    assertThat(written.intersects(20, 30)).isFalse();
    assertThat(written.intersects(19, 20)).isTrue();
    assertThat(written.intersects(0, 11)).isTrue();
    assertThat(written.intersects(0, SIZE)).isTrue();
  }

  @RepeatedTest(50)
  void whatFitsBetweenIsFoundFree(RepetitionInfo repetition) {
    Random random = new Random(repetition.getCurrentRepetition());
    BatchRanges written = new BatchRanges();
    BitSet model = new BitSet(SIZE);
    int added = 0;
    for (int step = 0; step < 400; step++) {
      int from = random.nextInt(SIZE);
      int to = Math.min(SIZE, from + 1 + random.nextInt(8));
      boolean taken = !model.get(from, to).isEmpty();
      assertThat(written.intersects(from, to)).isEqualTo(taken);
      if (!taken) {
        written.add(from, to);
        model.set(from, to);
        added++;
      }
    }
    assertThat(added).isGreaterThan(20);
  }
}
