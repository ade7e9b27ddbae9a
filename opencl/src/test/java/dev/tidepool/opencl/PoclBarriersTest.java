package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Kernels that PoCL 3.1 computed wrong, or ended the process for. */
class PoclBarriersTest {
  private static Tidepool tidepool;

  @BeforeAll
  static void open() {
    Pocl.devices().forEach(Device::close);
    tidepool = Discovery.using(List.of(new OpenClProvider()), Tidepool::open);
  }

  @AfterAll
  static void close() {
    tidepool.close();
  }

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

  @KernelMethod
  static void failuresBehindTheLastBarrierOfARound(WorkItem item, int[] counts, int[] out) {
    int i = (int) item.globalId(0);
    int local = (int) item.localId(0);
    int sum = local;
    int[] own = new int[4];
    int[] shared = item.localInts(4);
    for (int k = 0; k < 2; k++) {
      sum += out[i] & 7;
      item.barrier();
      shared[local] = out[i] + sum;
      item.barrier();
      out[i] += shared[(local + 2) & 3];
      item.barrier();
      own[sum & 3] += out[i];
      item.atomicAdd(counts, sum & 3, 1);
    }
    shared[local] = out[i] + own[sum & 3];
    item.barrier();
    out[i] += shared[(local + 1) & 3];
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

  static Stream<Arguments> kernels() {
    return Stream.of(
        calls("loop", 1),
        calls("loop", 4),
        calls("constantRounds", new int[] {1, 2, 3, 4, 5, 6, 7, 8}),
        calls("conditionOfTwoParts", 0),
        calls("conditionOfTwoParts", 1),
        calls("loopInConstantRounds"),
        calls("failuresBehindTheLastBarrierOfARound", new int[4]));
  }

  private static Arguments calls(String name, Object... arguments) {
    return Arguments.of(name, arguments);
  }

  @ParameterizedTest
  @MethodSource("kernels")
  void kernelsComputeWhatTheyComputeOnTheCpu(String name, Object[] arguments) {
    Object[] expected = withOutput(arguments);
    run("cpu:0", name, 4, expected);
    Object[] actual = withOutput(arguments);
    run("opencl:0", name, 4, actual);
    assertThat(actual).isEqualTo(expected);
  }

  private static Object[] withOutput(Object[] arguments) {
    Object[] all = Arrays.copyOf(arguments, arguments.length + 1);
    for (int i = 0; i < arguments.length; i++) {
      all[i] = arguments[i] instanceof int[] array ? array.clone() : arguments[i];
    }
    all[arguments.length] = new int[] {1, 2, 3, 4, 5, 6, 7, 8};
    return all;
  }

  @Test
  void groupsOfTwoItemsAreRefused() {
    assertThatThrownBy(() -> run("opencl:0", "conditionOfTwoParts", 2, 1, new int[8]))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("conditionOfTwoParts cannot run on PoCL in groups of 2 items");
  }

  private static void run(String accelerator, String name, int group, Object... arguments) {
    KernelSource.Method source = KernelSource.method(MethodHandles.lookup(), name);
    int items = ((int[]) arguments[arguments.length - 1]).length;
    try (UnifiedMemoryManager memory =
        UnifiedMemoryManager.create(
            tidepool.accelerator(accelerator), MemoryOptions.builder().build())) {
      memory
          .compile(source)
          .execute(
              dev.tidepool.Arguments.inOrder(arguments), LaunchRange.of(items).inGroupsOf(group));
    }
  }

  private static KernelTree tree(String name) {
    return MethodReader.read(KernelSource.method(MethodHandles.lookup(), name));
  }
}
