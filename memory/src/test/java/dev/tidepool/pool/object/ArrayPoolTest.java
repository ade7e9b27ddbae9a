package dev.tidepool.pool.object;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.tidepool.ElementType;
import dev.tidepool.pool.Threads;
import dev.tidepool.pooling.ArrayPool;
import dev.tidepool.pooling.ArrayPool.Clearing;
import dev.tidepool.pooling.ArrayPoolStatistics;
import java.lang.invoke.MethodHandles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ArrayPoolTest {
  private static final long KIB = 1 << 10;
  private static final long MIB = 1 << 20;

  record Point(float x, float y) {}

  static Stream<ElementType<?>> types() {
    return Stream.of(
        ElementType.BYTE,
        ElementType.SHORT,
        ElementType.INT,
        ElementType.LONG,
        ElementType.FLOAT,
        ElementType.DOUBLE,
        ElementType.BOOLEAN,
        ElementType.UNSIGNED_INT);
  }

  @ParameterizedTest
  @MethodSource("types")
  <A> void anArrayIsAtMostAnEighthLongerThanAskedForAbove4KiB(ElementType<A> type) {
    ArrayPool<A> pool = ArrayPool.create(type);
    SplittableRandom random = new SplittableRandom(7);
    for (int i = 0; i < 200; i++) {
      int length = random.nextInt((int) (4 * KIB / type.byteSize()), 1 << 20);
      A array = pool.rent(length);
      assertThat(array).isInstanceOf(type.arrayClass());
      assertThat(type.length(array)).isBetween(length, length + length / 8 + 1);
      pool.giveBack(array);
    }
    for (int length : new int[] {0, 1, 100, (int) (4 * KIB / type.byteSize())}) {
      assertThat(type.length(pool.rent(length))).isGreaterThanOrEqualTo(length);
    }
  }

  @Test
  void anArrayThatCameBackServesItsClassAlone() {
    ArrayPool<float[]> pool = ArrayPool.create(ElementType.FLOAT);
    float[] array = pool.rent(3000);
    pool.giveBack(array);
    assertThat(pool.rent(100)).isNotSameAs(array);
    assertThat(pool.rent(6000)).isNotSameAs(array);
    assertThat(pool.rent(3001)).isSameAs(array);
    assertThat(pool.statistics())
        .isEqualTo(new ArrayPoolStatistics(4, 1, 0, 0, 3, 4L * (array.length + 256 + 6144), 0))
        .returns(0.25, ArrayPoolStatistics::hitRate);
  }

  @Test
  void aSecondReturnAndAStrangeArrayAreRefusedAndChangeNothing() {
    ArrayPool<int[]> pool = ArrayPool.create(ElementType.INT, MIB, Clearing.ON_RETURN);
    int[] array = pool.rent(1000);
    pool.giveBack(array);
    int[] again = pool.rent(1000);
    assertThat(again).isSameAs(array);
    Arrays.fill(again, 3);
    pool.giveBack(again);
    ArrayPoolStatistics before = pool.statistics();
    assertThatIllegalStateException()
        .isThrownBy(() -> pool.giveBack(again))
        .withMessageContaining("int[]@")
        .withMessageContaining("returned already");
    // Of a class's length, of none, and empty.
    for (int length : new int[] {1024, 1000, 0}) {
      int[] strange = new int[length];
      Arrays.fill(strange, 5);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> pool.giveBack(strange))
          .withMessageContaining("not of this pool");
      assertThat(strange).containsOnly(length == 0 ? new int[0] : new int[] {5});
    }
    assertThat(pool.statistics()).isEqualTo(before);
  }

  @Test
  void badRequestsAreRefused() {
    ArrayPool<int[]> pool = ArrayPool.create(ElementType.INT);
    ElementType<Point[]> points = ElementType.struct(Point.class, MethodHandles.lookup());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> pool.rent(-1))
        .withMessageContaining("-1 elements");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ArrayPool.create(ElementType.INT, -1, Clearing.NEVER))
        .withMessageContaining("-1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ArrayPool.create(points))
        .withMessageContaining("struct Point");
    assertThat(pool.statistics().rents()).isZero();
  }

  @ParameterizedTest
  @MethodSource("types")
  <A> void arraysAreClearedAsAsked(ElementType<A> type) {
    for (Clearing clearing : Clearing.values()) {
      ArrayPool<A> pool = ArrayPool.create(type, MIB, clearing);
      A array = pool.rent(500);
      A zeros = type.newArray(type.length(array));
      dirty(array);
      A dirty = type.newArray(type.length(array));
      dirty(dirty);
      pool.giveBack(array);
      assertThat((Object) array).isEqualTo(clearing == Clearing.ON_RETURN ? zeros : dirty);
      assertThat((Object) pool.rent(500)).isSameAs(array);
      assertThat((Object) array).isEqualTo(clearing == Clearing.NEVER ? dirty : zeros);
    }
  }

  private static void dirty(Object array) {
    for (int i = 0; i < java.lang.reflect.Array.getLength(array); i++) {
      switch (array) {
        case boolean[] booleans -> booleans[i] = true;
        case byte[] bytes -> bytes[i] = 1;
        case short[] shorts -> shorts[i] = 1;
        case int[] ints -> ints[i] = 1;
        case long[] longs -> longs[i] = 1;
        case float[] floats -> floats[i] = 1;
        case double[] doubles -> doubles[i] = 1;
        default -> throw new AssertionError(array);
      }
    }
  }

  @Test
  void idleArraysNeverExceedTheMaximum() {
    ArrayPool<byte[]> pool = ArrayPool.create(ElementType.BYTE, 64 * KIB, Clearing.NEVER);
    List<byte[]> out = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      out.add(pool.rent(4 << 10));
      out.add(pool.rent(8 << 10));
    }
    out.forEach(pool::giveBack);
    assertThat(pool.statistics().idleBytes()).isBetween(56 * KIB, 64 * KIB);
    ArrayPoolStatistics statistics = pool.statistics();
    assertThat(statistics.idleArrays() + statistics.dropped()).isEqualTo(60);
    long idle = statistics.idleBytes();
    assertThat(pool.trim()).isEqualTo(idle);
    assertThat(pool.statistics())
        .returns(0L, ArrayPoolStatistics::idleBytes)
        .returns(60L, ArrayPoolStatistics::dropped);
    // The room is free again.
    byte[] array = pool.rent(64 << 10);
    pool.giveBack(array);
    assertThat(pool.rent(64 << 10)).isSameAs(array);
  }

  @Test
  void anArrayAboveTheLargestClassIsExactAndNotKept() {
    ArrayPool<byte[]> pool = ArrayPool.create(ElementType.BYTE, 1L << 40, Clearing.NEVER);
    byte[] array = pool.rent((1 << 30) + 1);
    assertThat(array.length).isEqualTo((1 << 30) + 1);
    assertThat(pool.statistics())
        .returns((1L << 30) + 1, ArrayPoolStatistics::rentedBytes)
        .returns(1L, ArrayPoolStatistics::rentedArrays);
    pool.giveBack(array);
    assertThat(pool.statistics())
        .returns(0L, ArrayPoolStatistics::rentedBytes)
        .returns(0L, ArrayPoolStatistics::idleBytes)
        .returns(1L, ArrayPoolStatistics::dropped);
    assertThatIllegalArgumentException().isThrownBy(() -> pool.giveBack(array));
  }

  @Test
  void aClosedPoolTakesArraysBackAndGivesNone() {
    ArrayPool<long[]> pool = ArrayPool.create(ElementType.LONG);
    long[] array = pool.rent(10);
    pool.giveBack(pool.rent(10_000));
    pool.close();
    pool.close();
    assertThat(pool.statistics()).returns(0L, ArrayPoolStatistics::idleBytes);
    pool.giveBack(array);
    assertThat(pool.statistics())
        .returns(0L, ArrayPoolStatistics::idleBytes)
        .returns(0L, ArrayPoolStatistics::rentedArrays);
    assertThatIllegalStateException()
        .isThrownBy(() -> pool.rent(10))
        .withMessageContaining("array pool of LONG is closed");
  }

  @Test
  void thePoolsOfAManagerShareTheirBytes() {
    ArrayPools pools = new ArrayPools(12 * KIB, Clearing.NEVER, Duration.ZERO);
    ArrayPool<byte[]> bytes = pools.of(ElementType.BYTE);
    ArrayPool<long[]> longs = pools.of(ElementType.LONG);
    assertThat(pools.of(ElementType.BYTE)).isSameAs(bytes);
    byte[] one = bytes.rent(8 << 10);
    long[] two = longs.rent(1 << 10);
    bytes.giveBack(one);
    longs.giveBack(two);
    assertThat(pools.sum(ArrayPoolStatistics::idleBytes)).isEqualTo(8 * KIB);
    assertThat(longs.statistics().dropped()).isEqualTo(1);
    assertThat(pools.trim()).isEqualTo(8 * KIB);
    longs.giveBack(longs.rent(1 << 10));
    assertThat(longs.statistics().idleBytes()).isEqualTo(8 * KIB);
    pools.close();
    assertThat(pools.sum(ArrayPoolStatistics::idleBytes)).isZero();
    assertThat(pools.of(ElementType.LONG)).isNotSameAs(longs);
  }

  @Test
  void arraysThatNobodyUsedForTheTimeoutAreDropped() {
    AtomicLong seconds = new AtomicLong();
    SizedArrayPool<int[]> pool =
        new SizedArrayPool<>(
            ElementType.INT,
            Clearing.NEVER,
            new IdleQuota(MIB),
            Duration.ofSeconds(10),
            () -> seconds.get() * 1_000_000_000L);
    int[] used = pool.rent(1000);
    int[] unused = pool.rent(5000);
    pool.giveBack(used);
    pool.giveBack(unused);
    pool.maintain();
    seconds.set(9);
    pool.giveBack(pool.rent(1000));
    pool.maintain();
    seconds.set(10);
    pool.maintain();
    assertThat(pool.statistics().idleBytes()).isEqualTo(4L * used.length);
    assertThat(pool.rent(1000)).isSameAs(used);
  }

  @Test
  void noTwoHoldersShareAnArray() throws Exception {
    ArrayPool<int[]> pool = ArrayPool.create(ElementType.INT, 256 * KIB, Clearing.NEVER);
    Threads.run(
        8,
        (thread, random) -> {
          for (int i = 0; i < 5_000; i++) {
            int[] a = pool.rent(random.nextInt(5_000));
            int[] b = pool.rent(random.nextInt(5_000));
            a[a.length - 1] = thread;
            b[b.length - 1] = thread;
            Thread.yield();
            if (a[a.length - 1] != thread || b[b.length - 1] != thread || a == b) {
              throw new AssertionError("an array has two holders");
            }
            pool.giveBack(a);
            pool.giveBack(b);
          }
        });
    assertThat(pool.statistics())
        .returns(80_000L, ArrayPoolStatistics::rents)
        .returns(0L, ArrayPoolStatistics::rentedArrays);
    ArrayPoolStatistics statistics = pool.statistics();
    assertThat(statistics.rents() - statistics.hits())
        .isEqualTo(statistics.dropped() + statistics.idleArrays());
    assertThat(statistics.idleBytes()).isLessThanOrEqualTo(256 * KIB);
    Set<Integer> identities = new HashSet<>();
    for (int i = 0; i < 50; i++) {
      identities.add(System.identityHashCode(pool.rent(100)));
    }
    assertThat(identities).hasSizeGreaterThan(45);
  }
}
