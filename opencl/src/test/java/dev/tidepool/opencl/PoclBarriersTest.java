package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelMethod;
import dev.tidepool.KernelSource;
import dev.tidepool.WorkItem;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.tree.KernelTree;
import java.lang.invoke.MethodHandles;
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

  private static KernelTree tree(String name) {
    return MethodReader.read(KernelSource.method(MethodHandles.lookup(), name));
  }
}
