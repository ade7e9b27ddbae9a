package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a buffer's allocation says of nodes and huge pages, the kernel has for its bytes. */
class PlacedBufferTest {
  private static final int MIB = 1 << 20;

  private final Tidepool tidepool = Tidepool.open(MemoryOptions.builder().build());
  private final UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
  private final HostPlatform platform = HostPlatform.probe();

  @BeforeEach
  void onlyWhereTheSystemTells() {
    assumeTrue(ProcessMemory.isTold(), "SKIPPED: the system does not tell of its pages");
  }

  @AfterEach
  void close() {
    tidepool.close();
  }

  @ParameterizedTest
  @EnumSource(MemoryLocation.class)
  void aBuffersBytesComeFromItsNode(MemoryLocation location) {
    assumeTrue(platform.numaPolicies(), "SKIPPED: the system has or allows no NUMA policies");
    int node = platform.numaNodes().getFirst();
    try (UnifiedBuffer<byte[]> buffer =
            memory.allocate(ElementType.BYTE, MIB, Allocation.at(location).onNode(node));
        UnifiedBuffer<byte[]> plain = memory.allocate(ElementType.BYTE, MIB, location)) {
      assertThat(ProcessMemory.policyAt(buffer.asSegment().address()))
          .isEqualTo(new ProcessMemory.Policy(1, 1L << node));
      assertThat(ProcessMemory.policyAt(plain.asSegment().address()).mode()).isZero();
    }
  }

  @ParameterizedTest
  @EnumSource(MemoryLocation.class)
  void aSmallBufferThatAsksForHugePagesLiesOnThem(MemoryLocation location) throws Exception {
    assumeTrue(
        platform.hugePageBytes() == 2 * MIB
            && !platform.transparentHugePages().orElse("never").equals("never"),
        "SKIPPED: no transparent huge pages of 2 MiB here");
    try (UnifiedBuffer<byte[]> buffer =
        memory.allocate(ElementType.BYTE, MIB, Allocation.at(location).hugePages().zeroed())) {
      MemorySegment segment = buffer.asSegment();
      segment.fill((byte) 3);
      assertThat(
              ProcessMemory.figure(segment, "AnonHugePages") + ProcessMemory.explicitHuge(segment))
          .isEqualTo(2 * MIB);
    }
  }

  @Test
  void aPlacedBufferServesKernelsAndIsNoPools() {
    Allocation placed =
        Allocation.at(MemoryLocation.DEVICE).onNode(platform.numaNodes().getFirst()).hugePages();
    float[] values = new float[1000];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    Kernel kernel = memory.compile(KernelSource.elementwise("y = x + 1"));
    try (UnifiedBuffer<float[]> x = memory.allocate(ElementType.FLOAT, values.length, placed);
        UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, values.length, placed)) {
      x.copyFrom(values);
      kernel.execute(Arguments.of("x", x, "y", y));
      y.copyTo(values);
    }
    for (int i = 0; i < values.length; i++) {
      assertThat(values[i]).isEqualTo(i + 1f);
    }
    assertThat(memory.statistics().driverAllocations()).isEqualTo(2);
    assertThat(memory.statistics().totalPooled()).isZero();
    memory.allocate(ElementType.BYTE, 0, placed).close();
    assertThat(memory.statistics().activeBuffers()).isZero();
  }

  @ParameterizedTest
  @EnumSource(MemoryLocation.class)
  void aNodeThatDoesNotExistIsRefusedAndNothingChanges(MemoryLocation location) {
    MemoryStatistics before = memory.statistics();
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> memory.allocate(ElementType.BYTE, MIB, Allocation.at(location).onNode(4242)))
        .withMessageContaining("no NUMA node 4242")
        .withMessageContaining("the nodes are " + platform.numaNodes().getFirst());
    assertThat(memory.statistics().activeBuffers()).isZero();
    assertThat(memory.statistics().pinnedBytes()).isEqualTo(before.pinnedBytes());
    try (UnifiedBuffer<byte[]> next = memory.allocate(ElementType.BYTE, MIB, location)) {
      next.asSegment().set(JAVA_BYTE, 0, (byte) 1);
    }
  }
}
