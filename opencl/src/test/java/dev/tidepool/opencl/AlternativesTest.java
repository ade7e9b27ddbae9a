package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.ExecutionOptions;
import dev.tidepool.Kernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.UnsupportedKernelException;
import dev.tidepool.WorkItem;
import dev.tidepool.spi.Device;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A source that the device cannot run gives way to the next source, or to another accelerator. */
@ExtendWith(NothingLeaks.class)
class AlternativesTest {
  private static final int ITEMS = 64;
  private static final LaunchRange RANGE = LaunchRange.of(ITEMS).inGroupsOf(8);

  private static final KernelSource LARGE = method("large");
  private static final KernelSource WRONG_ON_POCL = method("inConditions");
  private static final KernelSource PLAIN = method("plain");
  private static final KernelSource CUDA =
      KernelSource.cuda("", "one", KernelParameter.out("x", ElementType.INT));

  private static KernelSource method(String name) {
    return KernelSource.method(MethodHandles.lookup(), name);
  }

  /** Needs 64 MiB for each group. */
  static void large(WorkItem item, int[] x) {
    int[] shared = item.localInts(1 << 24);
    int local = (int) item.localId(0);
    shared[local] = 1;
    item.barrier();
    x[(int) item.globalId(0)] = shared[local];
  }

  /** Has a barrier inside of two conditions. */
  static void inConditions(WorkItem item, int[] x) {
    int[] shared = item.localInts(8);
    int local = (int) item.localId(0);
    if (item.globalSize(0) > 1) {
      shared[local] = 1;
      if (item.globalSize(0) > 2) {
        item.barrier();
      }
      x[(int) item.globalId(0)] = shared[local];
    }
  }

  static void plain(WorkItem item, int[] x) {
    x[(int) item.globalId(0)] = 2;
  }

  /** No accelerator can run it: it divides the items of a group at a barrier. */
  static void divided(WorkItem item, int[] x) {
    if (item.localId(0) > 0) {
      item.barrier();
    }
    x[(int) item.globalId(0)] = 3;
  }

  @BeforeEach
  void requirePocl() {
    Pocl.devices().forEach(Device::close);
  }

  private static int[] filled(int value) {
    int[] x = new int[ITEMS];
    Arrays.fill(x, value);
    return x;
  }

  private static int[] result(Kernel kernel) {
    int[] x = new int[ITEMS];
    kernel.execute(Arguments.of("x", x), RANGE);
    return x;
  }

  @Test
  void theNextSourceIsCompiledWhereTheDeviceCannotRunOne() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("opencl:0")) {
      assertThat(result(memory.compile(LARGE, PLAIN))).isEqualTo(filled(2));
      assertThat(result(memory.compile(WRONG_ON_POCL, CUDA, PLAIN))).isEqualTo(filled(2));
    }
  }

  @Test
  void oneSourceThatTheDeviceCannotRunIsToldFromAMistake() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("opencl:0")) {
      assertThatThrownBy(() -> memory.compile(LARGE))
          .isInstanceOf(UnsupportedKernelException.class)
          .hasMessageContaining("local ints(16777216) is too large for opencl:0");
      assertThatThrownBy(() -> memory.compile(WRONG_ON_POCL))
          .isInstanceOf(UnsupportedKernelException.class)
          .hasMessageContaining("cannot run on PoCL");
      assertThatThrownBy(() -> memory.compile(method("divided"), PLAIN))
          .isExactlyInstanceOf(KernelCompilationException.class)
          .hasMessageContaining("is not reached by all items of a group together");
    }
  }

  @Test
  void ifTheDeviceRunsNoneTheErrorHasTheReasonOfEach() {
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("opencl:0")) {
      assertThatThrownBy(() -> memory.compile(LARGE, CUDA))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageStartingWith("opencl:0 runs none of the sources:\n  AlternativesTest.large")
          .hasMessageMatching("(?s)[^\n]*\n[^\n]*is too large[^\n]*\n[^\n]*")
          .hasCauseInstanceOf(UnsupportedKernelException.class);
    }
  }

  @Test
  void theNextAcceleratorRunsAKernelWithoutBuffers() {
    try (Tidepool tidepool = Tidepool.open()) {
      tidepool.orchestrator().register("large", WRONG_ON_POCL);
      int[] x = new int[ITEMS];
      ExecutionOptions options = ExecutionOptions.defaults().over(RANGE);
      tidepool.orchestrator().execute("large", Arguments.of("x", x), options);
      assertThat(x).isEqualTo(filled(1));

      int[] y = new int[ITEMS];
      ExecutionOptions preferring = options.preferring("opencl");
      tidepool.orchestrator().execute("large", Arguments.of("x", y), preferring);
      assertThat(y).isEqualTo(filled(1));

      ExecutionOptions there = options.on("opencl:0");
      assertThatThrownBy(
              () -> tidepool.orchestrator().execute("large", Arguments.of("x", x), there))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContainingAll("kernel 'large': opencl:0 runs none", "cannot run on PoCL");
    }
  }

  @Test
  void theAcceleratorOfTheBuffersRunsTheNextSource() {
    try (Tidepool tidepool = Tidepool.open();
        UnifiedBuffer<int[]> x =
            tidepool.memory(tidepool.accelerator("opencl:0")).allocate(ElementType.INT, ITEMS)) {
      tidepool.orchestrator().register("filled", LARGE, PLAIN);
      tidepool
          .orchestrator()
          .execute("filled", Arguments.of("x", x), ExecutionOptions.defaults().over(RANGE));
      int[] array = new int[ITEMS];
      x.copyTo(array);
      assertThat(array).isEqualTo(filled(2));
    }
  }
}
