package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Work items for unit tests of kernels that are Java methods. */
class WorkItemTest {
  private static final int TIMES = 10_000;

  @Test
  void itIsTheLastItemOfItsRangeAndAloneInItsGroup() {
    WorkItem item = WorkItem.of(3, 4);
    assertThat(item.globalId(0)).isEqualTo(3);
    assertThat(item.globalId(1)).isEqualTo(4);
    assertThat(item.globalId(2)).isZero();
    assertThat(item.globalSize(1)).isEqualTo(5);
    assertThat(item.groupId(0)).isEqualTo(3);
    assertThat(item.groupSize(0)).isEqualTo(1);
    assertThat(item.localId(0)).isZero();
    item.barrier();
    assertThatThrownBy(() -> item.globalId(3)).isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> WorkItem.of()).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> WorkItem.of(-1)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void atomicOperationsAnswerWithTheElementBefore() {
    WorkItem item = WorkItem.of(0);
    int[] ints = {0, 5};
    assertThat(item.atomicAdd(ints, 1, 2)).isEqualTo(5);
    assertThat(item.atomicMin(ints, 1, 3)).isEqualTo(7);
    assertThat(item.atomicMax(ints, 1, 9)).isEqualTo(3);
    assertThat(item.atomicCompareAndSet(ints, 1, 8, 1)).isFalse();
    assertThat(item.atomicCompareAndSet(ints, 1, 9, 4)).isTrue();
    assertThat(ints).containsExactly(0, 4);
    long[] longs = {0, 1L << 40};
    assertThat(item.atomicAdd(longs, 1, 1)).isEqualTo(1L << 40);
    assertThat(item.atomicMin(longs, 1, 3)).isEqualTo((1L << 40) + 1);
    assertThat(item.atomicMax(longs, 1, 1L << 50)).isEqualTo(3);
    assertThat(item.atomicCompareAndSet(longs, 1, 8, 1)).isFalse();
    assertThat(item.atomicCompareAndSet(longs, 1, 1L << 50, 4)).isTrue();
    assertThat(longs).containsExactly(0, 4);
    float[] floats = {0, 0.5f};
    assertThat(item.atomicAdd(floats, 1, 0.25f)).isEqualTo(0.5f);
    assertThat(floats).containsExactly(0, 0.75f);
    assertThatThrownBy(() -> item.atomicAdd(ints, 2, 1))
        .isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void atomicOperationsOfSeveralThreadsLoseNothing() {
    int[] ints = {0, Integer.MAX_VALUE, Integer.MIN_VALUE, 0};
    long[] longs = {0, Long.MAX_VALUE, Long.MIN_VALUE, 0};
    float[] floats = {0};
    IntStream.range(0, TIMES)
        .parallel()
        .forEach(
            i -> {
              WorkItem item = WorkItem.of(i);
              item.atomicAdd(ints, 0, 1);
              item.atomicMin(ints, 1, i);
              item.atomicMax(ints, 2, i);
              item.atomicAdd(longs, 0, 1L << 33);
              item.atomicMin(longs, 1, -((long) i << 33));
              item.atomicMax(longs, 2, (long) i << 33);
              item.atomicAdd(floats, 0, 1);
              int seen = ints[3];
              while (!item.atomicCompareAndSet(ints, 3, seen, seen + 2)) {
                seen = ints[3];
              }
              long known = longs[3];
              while (!item.atomicCompareAndSet(longs, 3, known, known + (2L << 33))) {
                known = longs[3];
              }
            });
    assertThat(ints).containsExactly(TIMES, 0, TIMES - 1, 2 * TIMES);
    long last = TIMES - 1L;
    assertThat(longs)
        .containsExactly((long) TIMES << 33, -(last << 33), last << 33, (2L * TIMES) << 33);
    assertThat(floats).containsExactly(TIMES);
  }

  @Test
  void memoryOfTheGroupIsItsOwn() {
    WorkItem item = WorkItem.of(1);
    assertThat(item.localBytes(3)).hasSize(3);
    assertThat(item.localShorts(3)).hasSize(3);
    assertThat(item.localInts(3)).hasSize(3);
    assertThat(item.localLongs(3)).hasSize(3);
    assertThat(item.localFloats(3)).hasSize(3);
    assertThat(item.localDoubles(3)).hasSize(3);
    assertThat(item.localInts(3)).isNotSameAs(item.localInts(3));
  }
}
