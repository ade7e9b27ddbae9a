package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.spi.Device;
import java.lang.invoke.MethodHandles;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Java kernels whose arrays need much memory. PoCL ends the process where the arrays of a group's
 * items are more than a thread's stack, or those of the group more than the device has.
 */
@ExtendWith(NothingLeaks.class)
class KernelMemoryTest {
  private UnifiedMemoryManager memory;

  @BeforeEach
  void open() {
    Pocl.devices().forEach(Device::close);
    memory = UnifiedMemoryManager.create("opencl:0");
  }

  @AfterEach
  void close() {
    if (memory != null) {
      memory.close();
    }
  }

  static void own8KiB(int i, float[] x) {
    float[] own = new float[2048];
    own[i & 2047] = i;
    x[i] = own[i & 2047] + own[(i + 1) & 2047];
  }

  static void own256KiB(int i, float[] x) {
    float[] own = new float[65536];
    own[i & 65535] = i;
    x[i] = own[i & 65535] + own[(i + 1) & 65535];
  }

  static void own8MB(int i, float[] x) {
    int[] own = new int[2_000_000];
    own[i] = i;
    x[i] = own[i] + own[i + 1];
  }

  static void ownInGroups(WorkItem item, float[] x) {
    int i = (int) item.globalId(0);
    float[] own = new float[4096];
    own[i & 4095] = i;
    item.barrier();
    x[i] = own[i & 4095] + own[(i + 1) & 4095];
  }

  static void shared2MiB(WorkItem item, float[] x) {
    float[] shared = item.localFloats(1 << 19);
    int local = (int) item.localId(0);
    shared[local] = local;
    item.barrier();
    x[(int) item.globalId(0)] = shared[local];
  }

  static void sharedTo1MiB(WorkItem item, float[] x) {
    byte[] first = item.localBytes(1);
    float[] shared = item.localFloats((1 << 18) - 32);
    int local = (int) item.localId(0);
    shared[local] = local;
    first[0] = 1;
    item.barrier();
    x[(int) item.globalId(0)] = shared[local] + first[0] - 1;
  }

  static void shared400MiB(WorkItem item, float[] x) {
    float[] shared = item.localFloats(100 << 20);
    shared[0] = 1;
    x[0] = shared[0];
  }

  private Kernel compile(String name) {
    return memory.compile(KernelSource.method(MethodHandles.lookup(), name));
  }

  private static void requireOwnIndices(float[] x) {
    for (int i = 0; i < x.length; i++) {
      assertThat(x[i]).isEqualTo(i);
    }
  }

  @ParameterizedTest
  @CsvSource({"own8KiB, 20000", "own256KiB, 1000"})
  void groupsShrinkUntilTheArraysOfTheirItemsFit(String name, int items) {
    float[] x = new float[items];
    compile(name).execute(Arguments.inOrder(x), LaunchRange.of(items));
    requireOwnIndices(x);
  }

  @Test
  void anArrayThatDoesNotFitForOneItemIsRefused() {
    assertThatThrownBy(() -> compile("own8MB").execute(Arguments.inOrder(new float[8])))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContainingAll(
            "KernelMemoryTest.own8MB, line ",
            "new int[2000000] is too large for opencl:0",
            "an item needs 8000000 bytes of its own there, and may have 524288",
            "use smaller arrays");
  }

  @Test
  void aGroupThatIsAskedForHasToFit() {
    Kernel kernel = compile("ownInGroups");
    float[] x = new float[256];
    kernel.execute(Arguments.inOrder(x), LaunchRange.of(256).inGroupsOf(16));
    requireOwnIndices(x);
    assertThatThrownBy(
            () -> kernel.execute(Arguments.inOrder(x), LaunchRange.of(256).inGroupsOf(256)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll(
            "groups of [256] are too large for kernel ",
            "KernelMemoryTest.ownInGroups",
            "bytes of its own",
            "launch groups of at most 31");
    assertThatThrownBy(
            () ->
                kernel.execute(
                    Arguments.inOrder(new float[1 << 20]),
                    LaunchRange.of(1 << 20).inGroupsOf(1 << 20)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(
            "too large for kernel 'dev.tidepool.opencl.KernelMemoryTest.ownInGroups' on ");
  }

  @ParameterizedTest
  @CsvSource({"shared2MiB, 524288, 2097152", "shared400MiB, 104857600, 419430400"})
  void aGroupsMemoryIsWhatTheDeviceHas(String name, int length, int bytes) {
    LaunchRange range = LaunchRange.of(8).inGroupsOf(8);
    float[] x = new float[8];
    if (bytes <= localMemory()) {
      compile(name).execute(Arguments.inOrder(x), range);
      return;
    }
    assertThatThrownBy(() -> compile(name).execute(Arguments.inOrder(x), range))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContainingAll(
            "KernelMemoryTest." + name + ", line ",
            "local floats(" + length + ") is too large for opencl:0",
            "a group needs " + bytes + " bytes of memory there, and may have " + localMemory());
  }

  @Test
  void aGroupMayHaveAllOfTheDevicesMemory() {
    assumeTrue(localMemory() >= 1 << 20, "the device has 1 MiB for a group");
    float[] x = new float[8];
    compile("sharedTo1MiB").execute(Arguments.inOrder(x), LaunchRange.of(8).inGroupsOf(8));
    requireOwnIndices(x);
  }

  private static long localMemory() {
    var devices = Pocl.devices();
    try {
      return ((OpenClDevice) devices.getFirst()).properties().localMemory();
    } finally {
      devices.forEach(Device::close);
    }
  }
}
