package dev.tidepool.opencl;

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
      if (out[i] > 100) {
        out[i]--;
      }
    }
    if (n > 3) {
      item.barrier();
      out[i]++;
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"conditionInLoop", "loopInCondition", "severalWaysOut"})
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

  private static KernelTree tree(String name) {
    return MethodReader.read(KernelSource.method(MethodHandles.lookup(), name));
  }
}
