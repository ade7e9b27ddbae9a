package dev.tidepool.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.Kernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Items of Java methods share memory: atomic operations, groups and barriers. */
public abstract class GroupKernelConformance extends Topic {
  static final MethodHandles.Lookup LOOKUP = lookup();

  private static MethodHandles.Lookup lookup() {
    try {
      return MethodHandles.privateLookupIn(GroupKernels.class, MethodHandles.lookup());
    } catch (IllegalAccessException e) {
      throw new AssertionError("both are in one package", e);
    }
  }

  /** Compiles a kernel, or skips the test: without a compiler, only code already compiled runs. */
  private Kernel compiled(String method) {
    try {
      return memory().compile(KernelSource.method(LOOKUP, method));
    } catch (UnsupportedOperationException noCompiler) {
      return abort("no compiler: " + noCompiler.getMessage());
    }
  }

  @Test
  void atomicOperationsOfAllItems() {
    int[] values = new int[10_000];
    int[] plain = new int[16];
    for (int i = 0; i < values.length; i++) {
      values[i] = (i * 7) % 16;
      plain[values[i]]++;
    }
    int[] counts = new int[16];
    int[] extremes = {100, -100, 0};
    float[] sum = {0};
    compiled("counted")
        .execute(Arguments.inOrder(values, counts, extremes, sum), LaunchRange.of(10_000));
    assertThat(counts).containsExactly(plain);
    assertThat(extremes).containsExactly(0, 15, 20_000);
    assertThat(sum[0]).isEqualTo(10_000);
  }

  @Test
  void groupsShareMemoryAndMeetAtBarriers() {
    int[] in = new int[640];
    int[] expected = new int[20];
    for (int i = 0; i < in.length; i++) {
      in[i] = i * i;
      expected[i / 32] += in[i];
    }
    int[] sums = new int[20];
    compiled("sumsOfGroups")
        .execute(Arguments.inOrder(in, sums), LaunchRange.of(640).inGroupsOf(32));
    assertThat(sums).containsExactly(expected);
  }

  @Test
  void anItemThatReturnsStillMeetsTheBarriers() {
    int[] in = new int[96];
    int[] expected = new int[96];
    for (int i = 0; i < in.length; i++) {
      in[i] = i + 1000;
      expected[i] = i < 50 ? 1000 + i / 32 * 32 + (i + 1) % 32 : 0;
    }
    int[] out = new int[96];
    compiled("earlyReturn")
        .execute(Arguments.inOrder(50, in, out), LaunchRange.of(96).inGroupsOf(32));
    assertThat(out).containsExactly(expected);
  }

  @Test
  void conditionsOfSeveralPartsBetweenBarriers() {
    int[] in = {60, 20, 70, 40, 51, 50, 33, 99};
    Kernel kernel = compiled("waysBetweenBarriers");
    for (int count : new int[] {8, 6, 4}) {
      int[] expected = new int[8];
      for (int i = 0; i < count; i++) {
        int local = i % 4;
        int opposite = i - local + 3 - local;
        int otherwise = opposite < count ? in[opposite] : 0;
        boolean isHead = local == 0 || in[i - 1] > 50;
        boolean isBeforeHead = local < 3 && i + 1 < count && in[i + 1] > 50;
        boolean leaves = in[i] > 30 && otherwise > 40;
        expected[i] += (isHead ? 1 : 0) + (isBeforeHead ? 10 : 20);
        expected[i] += leaves ? 0 : in[i] > 30 ? 300 : 200;
        expected[i] += 1000 * (opposite < count ? otherwise + 3 - local : 0);
      }
      int[] out = new int[8];
      kernel.execute(
          Arguments.inOrder(count, Arrays.copyOf(in, count), out), LaunchRange.of(8).inGroupsOf(4));
      assertThat(out).containsExactly(expected);
    }
  }

  @Test
  void itemsThatHaveReturnedDoNothingBetweenBarriers() {
    int[] counted = {0};
    int[] out = new int[6];
    compiled("countsBehindABarrier")
        .execute(Arguments.inOrder(6, counted, out), LaunchRange.of(8).inGroupsOf(4));
    assertThat(counted).containsExactly(6);
    assertThat(out).containsOnly(3);
  }

  @Test
  void writtenElementsMayDecideWhatAnItemDoesBehindABarrier() {
    int[] values = {5, 1, 7, 2, 0, 4, 3, 9};
    compiled("waysByWrittenElements")
        .execute(Arguments.inOrder((Object) values), LaunchRange.of(8).inGroupsOf(4));
    assertThat(values).containsExactly(-1, 1, -1, 2, -1, -1, 3, -1);
  }

  @Test
  void loadsAndDivisionsDecideHowOftenItemsMeetThatHaveNotReturned() {
    Kernel kernel = compiled("roundsBehindReturns");
    LaunchRange range = LaunchRange.of(8).inGroupsOf(4);
    for (int returned = 0; returned < 6; returned++) {
      int[] out = new int[8];
      int[] expected = {6, 7, 8, 9, 107, 108, 109, 110};
      for (int i = 0; i < returned; i++) {
        out[i] = 7;
        expected[i] = 7;
      }
      // The first group has completely returned when items of the other return.
      int[] rounds = {4, 3};
      kernel.execute(Arguments.inOrder(2, rounds, out), range);
      assertThat(out).containsExactly(expected);
    }
    int[] out = {0, 7, 0, 0, 7, 7, 7, 7};
    kernel.execute(Arguments.inOrder(2, new int[] {4}, out), range);
    assertThat(out).containsExactly(6, 7, 8, 9, 7, 7, 7, 7);
    assertThatThrownBy(() -> kernel.execute(Arguments.inOrder(0, new int[2], new int[8]), range))
        .isInstanceOf(ArithmeticException.class)
        .hasMessage("/ by zero");
  }

  @Test
  void returnsOfSeveralConditionsInFrontOfBarriers() {
    Kernel kernel = compiled("returnsOfSeveralConditions");
    int[] in = {60, 1, 95, 40, 51, 2, 33, 0};
    for (int count = 4; count <= 8; count++) {
      for (int last = -1; last < 4; last++) {
        int[] expected = new int[8];
        for (int i = 0; i < (last < 0 ? 0 : count); i++) {
          boolean isLeft = in[i] >= 90 || i % 4 > last;
          int rounds = Math.min(3, Math.min(count - i, in[i]));
          boolean ends = rounds < 3 || count == 5 || last == 2;
          expected[i] = isLeft ? -1 : rounds * (rounds + 1) / 2 + (ends ? 0 : 100);
        }
        int[] out = new int[8];
        kernel.execute(
            Arguments.inOrder(count, last, Arrays.copyOf(in, count), out),
            LaunchRange.of(8).inGroupsOf(4));
        assertThat(out).as("count %s, last %s", count, last).containsExactly(expected);
      }
    }
  }

  @Test
  void whatDecidesAboutBarriersFailsForAllItemsOfAGroup() {
    Kernel kernel = compiled("roundsUntilZero");
    LaunchRange range = LaunchRange.of(3).inGroupsOf(3);
    int[] out = new int[3];
    kernel.execute(Arguments.inOrder(new int[] {5, 6, 0, 9}, out), range);
    assertThat(out).containsExactly(1011, 0, 1011);
    assertThatThrownBy(() -> kernel.execute(Arguments.inOrder(new int[] {5, 6}, out), range))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class)
        .hasMessage("Index 2 out of bounds for length 2 of 'rounds'");
  }

  @Test
  void itemsGoTheirOwnWaysBehindABarrierInACondition() {
    int[] out = new int[8];
    compiled("barrierInCondition")
        .execute(Arguments.inOrder(5, out), LaunchRange.of(8).inGroupsOf(4));
    assertThat(out).containsExactly(5, 5, 5, 5, 5, 0, 0, 0);
  }

  @Test
  void someItemsJumpToTheEndOfAConditionBehindItsBarrier() {
    int[] out = new int[8];
    compiled("jumpToEndOfCondition")
        .execute(Arguments.inOrder(1, out), LaunchRange.of(8).inGroupsOf(4));
    assertThat(out).containsExactly(1110, 1011, 1012, 1113, 1014, 1115, 1116, 1117);
  }

  @Test
  void bothPartsOfAConditionMayHaveBarriers() {
    Kernel kernel = compiled("barriersInBothParts");
    LaunchRange range = LaunchRange.of(8).inGroupsOf(4);
    int[] out = new int[8];
    kernel.execute(Arguments.inOrder(0, out), range);
    assertThat(out).containsExactly(9, 9, 9, 0, 9, 9, 9, 9);
    kernel.execute(Arguments.inOrder(5, out), range);
    assertThat(out).containsOnly(5);
  }

  @Test
  void itemsLeaveALoopForTheNextRoundOfAnother() {
    Kernel kernel = compiled("leavesInnerLoop");
    LaunchRange range = LaunchRange.of(6).inGroupsOf(3);
    int[] all = new int[6];
    kernel.execute(Arguments.inOrder(-1, all), range);
    assertThat(all).containsOnly(48);
    int[] two = new int[6];
    kernel.execute(Arguments.inOrder(1, two), range);
    assertThat(two).containsOnly(32);
  }

  @Test
  void itemsThatReturnTogetherDoNothingBehind() {
    int[] rounds = {7, 8};
    Kernel kernel = compiled("returnTogether");
    int[] untouched = new int[6];
    int[] written = new int[6];
    LaunchRange range = LaunchRange.of(6).inGroupsOf(3);
    kernel.execute(Arguments.inOrder(-1, 2, rounds, untouched), range);
    kernel.execute(Arguments.inOrder(1, 0, rounds, untouched), range);
    assertThat(untouched).containsOnly(0);
    kernel.execute(Arguments.inOrder(1, 2, rounds, written), range);
    assertThat(written).containsExactly(4, 0, 4, 4, 0, 4);
  }

  @Test
  void aMethodThatIsCalledBeforeBarriersReturnsInItsOwnWay() {
    int[] in = new int[90];
    for (int i = 0; i < in.length; i++) {
      in[i] = i * 37 % 91;
    }
    int[] expected = new int[128];
    for (int group = 0; group < 128; group += 32) {
      int rises = 0;
      for (int i = group; i < group + 32; i++) {
        rises += isRise(i, in) ? 1 : 0;
      }
      for (int i = group; i < group + 32; i++) {
        expected[i] = isRise(i, in) ? 1000 * (group + rises) + i : 0;
      }
    }
    int[] out = new int[128];
    compiled("callsBeforeBarriers")
        .execute(Arguments.inOrder(in, out), LaunchRange.of(128).inGroupsOf(32));
    assertThat(out).containsExactly(expected);
  }

  private static boolean isRise(int i, int[] in) {
    return i < in.length && (i == 0 || in[i] > in[i - 1]);
  }

  @Test
  void aMatrixProductWithTiles() {
    int n = 32;
    float[] a = new float[n * n];
    float[] b = new float[n * n];
    float[] expected = new float[n * n];
    for (int i = 0; i < n * n; i++) {
      a[i] = i % 13;
      b[i] = i % 7 - 3;
    }
    for (int row = 0; row < n; row++) {
      for (int column = 0; column < n; column++) {
        for (int k = 0; k < n; k++) {
          expected[row * n + column] += a[row * n + k] * b[k * n + column];
        }
      }
    }
    float[] c = new float[n * n];
    compiled("tiled").execute(Arguments.inOrder(n, a, b, c), LaunchRange.of(n, n).inGroupsOf(8, 8));
    assertThat(c).containsExactly(expected);
  }

  @Test
  void atomicOperationsOf64BitsOrARefusalByName() {
    Kernel kernel;
    try {
      kernel = compiled("countedInLongs");
    } catch (KernelCompilationException refused) {
      assertThat(memory().accelerator().id()).doesNotStartWith("cpu:").doesNotStartWith("cuda:");
      assertThat(refused)
          .hasMessageContainingAll(
              "GroupKernels.countedInLongs needs atomic operations of 64 bits",
              "use another device");
      return;
    }
    int[] values = new int[5000];
    long[] expected = new long[16];
    for (int i = 0; i < values.length; i++) {
      values[i] = (i * 7) % 16;
      expected[values[i]] += 0x1_0000_0000L;
    }
    long[] counts = new long[16];
    long[] extremes = {Long.MAX_VALUE, Long.MIN_VALUE, 0};
    long[] own = new long[values.length];
    kernel.execute(Arguments.inOrder(values, counts, extremes, own), LaunchRange.of(5000));
    assertThat(counts).containsExactly(expected);
    assertThat(extremes).containsExactly(0, 15 * 0x1_0000_0001L, 5000 * 0x1_0000_0000L);
    assertThat(own)
        .containsExactly(
            Arrays.stream(values).mapToLong(value -> value * 0x1_0000_0001L).toArray());
  }

  @Test
  void atomicOperationsOnMemoryOfTheGroup() {
    int[] values = new int[640];
    int[] expected = new int[16];
    for (int i = 0; i < values.length; i++) {
      values[i] = (i * 5) % 16;
      expected[values[i]]++;
    }
    int[] counts = new int[16];
    compiled("countedInGroups")
        .execute(Arguments.inOrder(values, counts), LaunchRange.of(640).inGroupsOf(32));
    assertThat(counts).containsExactly(expected);
  }

  @Test
  void groupsShareMemoryOfEveryType() {
    int[] ints = new int[96];
    int[] turned = new int[96];
    for (int i = 0; i < ints.length; i++) {
      ints[i] = i * 0x0101_0101;
    }
    for (int i = 0; i < ints.length; i++) {
      turned[i] = ints[i / 32 * 32 + 31 - i % 32];
    }
    byte[] bytes = new byte[96];
    short[] shorts = new short[96];
    long[] longs = new long[96];
    float[] floats = new float[96];
    double[] doubles = new double[96];
    for (int i = 0; i < ints.length; i++) {
      bytes[i] = (byte) ints[i];
      shorts[i] = (short) ints[i];
      longs[i] = ints[i] * 0x1_0000_0001L;
      floats[i] = ints[i];
      doubles[i] = ints[i] / 3.0;
    }
    LaunchRange range = LaunchRange.of(96).inGroupsOf(32);
    compiled("turnedIntegers").execute(Arguments.inOrder(bytes, shorts, ints, longs), range);
    compiled("turnedFloats").execute(Arguments.inOrder((Object) floats), range);
    assertThat(ints).containsExactly(turned);
    for (int i = 0; i < ints.length; i++) {
      assertThat(bytes[i]).isEqualTo((byte) turned[i]);
      assertThat(shorts[i]).isEqualTo((short) turned[i]);
      assertThat(longs[i]).isEqualTo(turned[i] * 0x1_0000_0001L);
      assertThat(floats[i]).isEqualTo(turned[i]);
    }
    if (bench().can(Capability.FLOAT64)) {
      compiled("turnedDoubles").execute(Arguments.inOrder((Object) doubles), range);
      for (int i = 0; i < ints.length; i++) {
        assertThat(doubles[i]).isEqualTo(turned[i] / 3.0);
      }
    }
  }

  @Test
  void anArrayThatDecidesAboutBarriersMustNotOverlapAWrittenOne() {
    Kernel kernel = compiled("roundsFromAnArray");
    LaunchRange range = LaunchRange.of(64).inGroupsOf(32);
    int[] rounds = {4};
    int[] out = new int[64];
    kernel.execute(Arguments.inOrder(rounds, out), range);
    assertThat(out).containsOnly(6);
    int[] one = new int[64];
    one[0] = 4;
    assertThatThrownBy(() -> kernel.execute(Arguments.inOrder(one, one), range))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("'rounds' and 'out' overlap", "barrier", "'out' is written");
    try (UnifiedBuffer<int[]> buffer = memory().copyOf(new int[128]);
        UnifiedBuffer<int[]> low = buffer.slice(0, 64);
        UnifiedBuffer<int[]> part = buffer.slice(63, 1);
        UnifiedBuffer<int[]> high = buffer.slice(64, 64)) {
      for (UnifiedBuffer<int[]> overlapping : List.of(buffer, low, part)) {
        assertThatThrownBy(() -> kernel.execute(Arguments.inOrder(overlapping, low), range))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("'rounds' and 'out' overlap");
        assertThatThrownBy(() -> kernel.executeAsync(Arguments.inOrder(overlapping, low), range))
            .isInstanceOf(IllegalArgumentException.class);
      }
      kernel.execute(Arguments.inOrder(part, high), range);
      assertThat(contents(buffer)).containsOnly(0);
    }
  }

  @Test
  void itemsKnowTheirNumbersInThreeDimensions() {
    int[] size = {4, 6, 2};
    int[] group = {2, 3, 1};
    long[] expected = new long[4 * 6 * 2 * 15];
    int at = 0;
    for (int z = 0; z < size[2]; z++) {
      for (int y = 0; y < size[1]; y++) {
        for (int x = 0; x < size[0]; x++) {
          int[] id = {x, y, z};
          for (int dimension = 0; dimension < 3; dimension++) {
            expected[at + dimension] = id[dimension];
            expected[at + 3 + dimension] = id[dimension] % group[dimension];
            expected[at + 6 + dimension] = id[dimension] / group[dimension];
            expected[at + 9 + dimension] = group[dimension];
            expected[at + 12 + dimension] = size[dimension];
          }
          at += 15;
        }
      }
    }
    long[] out = new long[expected.length];
    compiled("numbersOfItems")
        .execute(Arguments.inOrder((Object) out), LaunchRange.of(4, 6, 2).inGroupsOf(2, 3, 1));
    assertThat(out).containsExactly(expected);
  }
}
