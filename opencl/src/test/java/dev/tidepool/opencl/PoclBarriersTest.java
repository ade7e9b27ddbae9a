package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelMethod;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import java.lang.invoke.MethodHandles;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PoclBarriersTest {
  @KernelMethod
  static void conditionInLoop(WorkItem item, int n, int[] out) {
    for (int k = 0; k < n; k++) {
      if (k % 2 == 0) {
        item.barrier();
        out[(int) item.globalId(0)]++;
      }
    }
  }

  @KernelMethod
  static void loopInCondition(WorkItem item, int n, int[] out) {
    if (n > 2) {
      for (int k = 0; k < n; k++) {
        item.barrier();
        out[(int) item.globalId(0)]++;
      }
    }
  }

  /** Was computed wrong by PoCL 3.1, as the next one was. */
  @KernelMethod
  static void conditionInCondition(WorkItem item, int n, int[] out) {
    if (n > 2) {
      out[(int) item.globalId(0)]++;
      if (n < 7) {
        item.barrier();
        out[(int) item.globalId(0)]++;
      }
    }
  }

  @KernelMethod
  static void eitherCondition(WorkItem item, int n, int m, int[] out) {
    if (n > 2 || m > 3) {
      item.barrier();
      out[(int) item.globalId(0)]++;
    }
  }

  /** Ended the process with PoCL 3.1. */
  @KernelMethod
  static void severalWaysOut(WorkItem item, int n, int[] out) {
    int i = (int) item.globalId(0);
    rounds:
    for (int j = 0; j < 3; j++) {
      for (int k = 0; k < 3; k++) {
        item.barrier();
        out[i]++;
        if (k + j == n) {
          continue rounds;
        }
        item.barrier();
        out[i] += 10;
        if (k * j == n + 1) {
          break rounds;
        }
      }
      out[i] += 100;
    }
  }

  /** Where the load fails, the items do not come by the condition under which the loop ends. */
  @KernelMethod
  static void failsInFrontOfItsCondition(WorkItem item, int[] in, int[] out) {
    int k = 0;
    while (true) {
      item.barrier();
      out[(int) item.globalId(0)]++;
      k++;
      if (in[k] > 3) {
        continue;
      }
      if (k > 5) {
        break;
      }
    }
  }

  @KernelMethod
  static void loop(WorkItem item, int n, int[] out) {
    int i = (int) item.globalId(0);
    for (int k = 0; k < n; k++) {
      item.barrier();
      out[i] += k;
      if (out[i] > 100 || i == 0) {
        out[i]--;
      }
    }
    if (n > 3) {
      item.barrier();
      out[i]++;
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "conditionInLoop",
        "loopInCondition",
        "conditionInCondition",
        "eitherCondition",
        "severalWaysOut"
      })
  void whatPoclComputesWrongIsRefused(String name) {
    assertThatThrownBy(() -> PoclBarriers.check(tree(name), false))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("PoclBarriersTest." + name + " cannot run on PoCL")
        .hasMessageContaining("use cpu:0");
  }

  @Test
  void aLoadThatFailsIsNoWayOutOfALoopAroundBarriers() {
    KernelTree tree = tree("failsInFrontOfItsCondition");
    assertThatThrownBy(() -> PoclBarriers.check(tree, true))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("one of them a return, an index or a division by zero");
    assertThatNoException().isThrownBy(() -> PoclBarriers.check(tree, false));
  }

  @Test
  void loopsAndConditionsMayHaveBarriers() {
    assertThatNoException().isThrownBy(() -> PoclBarriers.check(tree("loop"), true));
  }

  /** Ended the process with PoCL 3.1, if it was optimized. */
  @KernelMethod
  static void constantRounds(WorkItem item, int[] in, int[] out) {
    int i = (int) item.globalId(0);
    int local = (int) item.localId(0);
    int sum = local;
    int[] shared = item.localInts(4);
    for (int k = 0; k < 2; k++) {
      item.barrier();
      shared[local] = sum;
      item.barrier();
      if (local == 0 || shared[local - 1] > 4) {
        out[i]++;
      }
      sum += shared[3 - local];
      item.barrier();
      sum += in[i];
    }
    out[i] += sum;
  }

  @Test
  void whatPoclOptimizesWrongIsNotOptimized() {
    assertThat(PoclBarriers.mayBeOptimized(tree("constantRounds"))).isFalse();
    assertThat(PoclBarriers.mayBeOptimized(tree("loop"))).as("n rounds").isTrue();
    assertThat(PoclBarriers.mayBeOptimized(tree("conditionInLoop"))).as("one part").isTrue();
  }

  /** PoCL 3.1 ended the process for some kernels like this one in groups of two items. */
  @KernelMethod
  static void conditionOfTwoParts(WorkItem item, int n, int[] out) {
    int i = (int) item.globalId(0);
    int local = (int) item.localId(0);
    int sum = local;
    int[] shared = item.localInts(8);
    shared[local] = 0;
    if (n == 0) {
      out[i] += n;
      sum += out[i];
    } else {
      item.barrier();
      shared[local] = sum;
      item.barrier();
      if (local == 0 || shared[local - 1] > 4) {
        out[i]++;
      }
      sum += shared[1 - (local & 1)];
      item.barrier();
      item.atomicAdd(shared, sum & 3, 1);
    }
    item.barrier();
    out[i] += sum + shared[(local + 1) & 1];
  }

  /** Ended the process with PoCL 3.1, if it was optimized. */
  @KernelMethod
  static void loopInConstantRounds(WorkItem item, int[] out) {
    int i = (int) item.globalId(0);
    int local = (int) item.localId(0);
    int[] shared = item.localInts(4);
    for (int k = 0; k < 2; k++) {
      shared[local] = out[i];
      item.barrier();
      for (int step = (int) item.groupSize(0) / 2; step > 0; step /= 2) {
        if (local < step) {
          shared[local] += shared[local + step];
        }
        item.barrier();
      }
      out[i] += shared[0];
      item.barrier();
    }
  }

  @Test
  void whatPoclCannotCopyForTwoItemsIsNotLaunchedInPairs() {
    assertThatThrownBy(() -> runOnPocl("loop", 2, 1, new int[8]))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("loop cannot run on PoCL in groups of 2 items");
    int[] out = new int[8];
    runOnPocl("conditionOfTwoParts", 4, 1, out);
    assertThat(out).containsExactly(5, 1, 6, 3, 5, 1, 6, 3);
    int[] twos = new int[8];
    runOnPocl("conditionOfTwoParts", 2, 1, twos);
    assertThat(twos).as("not optimized").containsExactly(5, 1, 5, 1, 5, 1, 5, 1);
    int[] pairs = {1, 2, 3, 4};
    runOnPocl("loopInConstantRounds", 2, pairs);
    assertThat(pairs).as("not optimized").containsExactly(13, 14, 31, 32);
  }

  @Test
  void loopsInConstantRoundsAreNotOptimized() {
    int[] out = {1, 2, 3, 4};
    runOnPocl("loopInConstantRounds", 4, out);
    assertThat(out).containsExactly(61, 62, 63, 64);
  }

  /** Ended the process with PoCL 3.1, which copied conditions across the end of the loop. */
  @KernelMethod
  static void failuresBehindTheLastBarrierOfARound(WorkItem item, int[] counts, int[] out) {
    int i = (int) item.globalId(0);
    int local = (int) item.localId(0);
    int sum = local;
    int[] own = new int[4];
    int[] shared = item.localInts(8);
    int[] total = item.localInts(1);
    shared[local] = 0;
    if (local == 0) {
      total[0] = 1;
    }
    shared[local] = out[i] + sum;
    item.barrier();
    out[i] += shared[(local + 5) & 7];
    item.barrier();
    for (int k = 0; k < 2; k++) {
      sum += out[i] & 7;
      item.barrier();
      shared[local] = out[i] + sum;
      item.barrier();
      out[i] += shared[(local + 2) & 7];
      item.barrier();
      out[i] += sum;
      own[sum & 3] += out[i];
      item.atomicAdd(counts, sum & 3, 1);
    }
    shared[local] = out[i] + sum;
    item.barrier();
    out[i] += shared[(local + 6) & 7];
    item.barrier();
    shared[local] = out[i] + sum;
    item.barrier();
    out[i] += shared[(local + 7) & 7];
    item.barrier();
    out[i] += sum;
  }

  @Test
  void aBarrierEndsTheRoundsOfALoop() {
    assertThat(PoclBarriers.mayBeOptimized(tree("failuresBehindTheLastBarrierOfARound"))).isTrue();
    int[] expected = {1, 2, 3, 4, 5, 6, 7, 8};
    run("cpu:0", "failuresBehindTheLastBarrierOfARound", 8, new int[4], expected);
    int[] out = {1, 2, 3, 4, 5, 6, 7, 8};
    run("opencl:0", "failuresBehindTheLastBarrierOfARound", 8, new int[4], out);
    assertThat(out).isEqualTo(expected);
  }

  /** The first item of a group decided for all with PoCL 3.1, since no barrier ended the branch. */
  @KernelMethod
  static void loopAtTheEndOfACondition(WorkItem item, int n, int[] in, int[] out) {
    int i = (int) item.globalId(0);
    if (n > 3) {
      item.barrier();
      for (int k = 0; k < 3; k++) {
        if (in[i] <= 50) {
          out[i] += 5;
        }
      }
    }
    item.barrier();
    out[i] += 100;
  }

  /** Like the one above, if a jump of all items skipped the end of the branch. */
  @KernelMethod
  static void jumpOverTheEndOfACondition(WorkItem item, int n, int[] in, int[] out) {
    addInRounds(item, n, in, out);
    item.barrier();
    out[(int) item.globalId(0)] += 100;
  }

  private static void addInRounds(WorkItem item, int n, int[] in, int[] out) {
    int i = (int) item.globalId(0);
    if (n > 3) {
      item.barrier();
      for (int k = 0; k < 3; k++) {
        if (in[i] <= 50) {
          out[i] += 5;
        }
        if (n == 5) {
          return;
        }
      }
      out[i] += 7;
    }
    out[i] += 1000;
  }

  /** The first item of a group decides for all if PoCL 3.1 optimizes this. */
  @KernelMethod
  static void returnsAtTheEndOfAPart(WorkItem item, int n, int[] in, int[] out) {
    int i = (int) item.globalId(0);
    if (n > 3) {
      item.barrier();
      if (in[i] <= 50) {
        return;
      }
    } else {
      out[i] += 7;
    }
    out[i] += 100;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "loopAtTheEndOfACondition",
        "jumpOverTheEndOfACondition",
        "returnsAtTheEndOfAPart"
      })
  void conditionsWithBarriersAreRightHoweverTheyAreLeft(String name) {
    for (int n = 3; n < 6; n++) {
      int[] in = {10, 90, 90, 10, 90, 10, 10, 90};
      int[] expected = new int[8];
      KernelSource.Method source = KernelSource.method(MethodHandles.lookup(), name).unchecked();
      run("cpu:0", source, 4, n, in, expected);
      int[] out = new int[8];
      run("opencl:0", source, 4, n, in, out);
      assertThat(out).as("n = %s", n).isEqualTo(expected);
    }
  }

  private static void runOnPocl(String name, int group, Object... arguments) {
    run("opencl:0", name, group, arguments);
  }

  private static void run(String accelerator, String name, int group, Object... arguments) {
    run(accelerator, KernelSource.method(MethodHandles.lookup(), name), group, arguments);
  }

  private static void run(
      String accelerator, KernelSource.Method source, int group, Object... arguments) {
    Pocl.devices().forEach(Device::close);
    int items = ((int[]) arguments[arguments.length - 1]).length;
    try (Tidepool tidepool = Discovery.using(List.of(new OpenClProvider()), Tidepool::open);
        UnifiedMemoryManager memory =
            UnifiedMemoryManager.create(
                tidepool.accelerator(accelerator), MemoryOptions.builder().build())) {
      memory
          .compile(source)
          .execute(Arguments.inOrder(arguments), LaunchRange.of(items).inGroupsOf(group));
    }
  }

  private static KernelTree tree(String name) {
    return MethodReader.read(KernelSource.method(MethodHandles.lookup(), name));
  }
}
