package dev.tidepool.cpu;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.AcceleratorKind;
import dev.tidepool.Capability;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryInfo;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.host.GrantedMemory;
import dev.tidepool.host.HostBlock;
import dev.tidepool.host.HostPlatform;
import dev.tidepool.host.NumaPolicy;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.spi.Placement;
import dev.tidepool.spi.Queue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CpuDeviceTest {
  private final Device device = new CpuDevice();
  private final Queue queue = device.createQueue();

  @AfterEach
  void closeAll() {
    queue.close();
    device.close();
  }

  @Test
  void itSaysWhatItIs() {
    assertThat(device.info().id()).isEqualTo("cpu:0");
    assertThat(device.info().name()).isNotBlank();
    assertThat(device.info().kind()).isEqualTo(AcceleratorKind.CPU);
    assertThat(device.info().capabilities())
        .contains(
            Capability.SHARED_MEMORY,
            Capability.UNIFIED_MEMORY,
            Capability.FLOAT64,
            Capability.JAVA_KERNELS)
        .doesNotContain(Capability.OPENCL_KERNELS, Capability.CUDA_KERNELS);
    MemoryInfo memory = device.memory();
    assertThat(memory.freeBytes()).isBetween(1L, memory.totalBytes());
    assertThat(device.info().maximumAllocation()).isEqualTo(memory.totalBytes());
  }

  @ParameterizedTest
  @EnumSource(BlockKind.class)
  void aBlockOfEachKindIsReachedByTheHostDirectly(BlockKind kind) {
    assumeTrue(kind != BlockKind.PINNED || device.info().can(Capability.PINNED_MEMORY));
    Block block = device.allocate(10_000, 256, kind);
    assertThat(block.byteSize()).isEqualTo(10_000);
    assertThat(block.hostAccess()).isEqualTo(HostAccess.DIRECT);
    MemorySegment segment = block.segment();
    assertThat(segment.address() % 256).isZero();
    segment.fill((byte) 3);
    assertThat(segment.get(JAVA_BYTE, 9_999)).isEqualTo((byte) 3);
    block.free();
    assertThatIllegalStateException().isThrownBy(() -> segment.get(JAVA_BYTE, 0));
  }

  @ParameterizedTest
  @EnumSource(BlockKind.class)
  void aBlockOfEachKindHasThePlacementAskedFor(BlockKind kind) {
    assumeTrue(kind != BlockKind.PINNED || device.info().can(Capability.PINNED_MEMORY));
    HostPlatform platform = HostPlatform.probe();
    int node = platform.numaNodes().getFirst();
    Block block = device.allocate(1 << 20, 64, kind, new Placement(OptionalInt.of(node), true));
    assertThat(block)
        .isInstanceOfSatisfying(
            HostBlock.class,
            host -> {
              GrantedMemory backing = host.backing();
              assertThat(backing.numa())
                  .isEqualTo(
                      platform.numaPolicies() ? NumaPolicy.preferred(node) : NumaPolicy.LOCAL);
              assertThat(backing.bytes())
                  .isEqualTo(backing.pageBytes() == 2 << 20 ? 2 << 20 : 1 << 20);
              assertThat(backing.locked()).isEqualTo(kind == BlockKind.PINNED);
            });
    block.free();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> device.allocate(100, 1, kind, new Placement(OptionalInt.of(4242), false)))
        .withMessageContaining("4242");
  }

  @Test
  void whatDoesNotFitIsRefusedWithNumbers() {
    long bytes = 2 * device.info().maximumAllocation();
    for (BlockKind kind : BlockKind.values()) {
      if (kind != BlockKind.PINNED || device.info().can(Capability.PINNED_MEMORY)) {
        assertThatThrownBy(() -> device.allocate(bytes, 1, kind))
            .isInstanceOf(OutOfDeviceMemoryException.class)
            .hasMessageContaining(String.valueOf(bytes));
      }
    }
  }

  @Test
  void bytesTravelAtAnyOffsetAndNothingBesideThemChanges() {
    SplittableRandom random = new SplittableRandom(11);
    Block a = device.allocate(1 << 16, 64, BlockKind.DEVICE);
    Block b = device.allocate(1 << 16, 64, BlockKind.UNIFIED);
    byte[] modelA = new byte[1 << 16];
    byte[] modelB = new byte[1 << 16];
    done(queue.fill(a, 0, 1 << 16, (byte) 0));
    done(queue.fill(b, 0, 1 << 16, (byte) 0));
    try (Arena arena = Arena.ofConfined()) {
      for (int round = 0; round < 300; round++) {
        int count = random.nextInt(5000);
        int from = random.nextInt((1 << 16) - count);
        int to = random.nextInt((1 << 16) - count);
        byte[] bytes = new byte[count];
        random.nextBytes(bytes);
        MemorySegment host = arena.allocate(Math.max(1, count)).asSlice(0, count);
        host.copyFrom(MemorySegment.ofArray(bytes));
        done(queue.write(host, a, to));
        System.arraycopy(bytes, 0, modelA, to, count);
        done(queue.copy(a, from, b, to, count));
        System.arraycopy(modelA, from, modelB, to, count);
        done(queue.fill(b, from, count, (byte) round));
        Arrays.fill(modelB, from, from + count, (byte) round);
        done(queue.read(b, to, host));
        assertThat(host.mismatch(MemorySegment.ofArray(modelB).asSlice(to, count))).isEqualTo(-1);
      }
    }
    assertThat(a.segment().mismatch(MemorySegment.ofArray(modelA))).isEqualTo(-1);
    assertThat(b.segment().mismatch(MemorySegment.ofArray(modelB))).isEqualTo(-1);
    a.free();
    b.free();
  }

  @Test
  void aFailedCommandTellsInItsEventAndTheQueueGoesOn() {
    Block block = device.allocate(100, 1, BlockKind.DEVICE);
    block.free();
    try (Event event = queue.fill(block, 0, 100, (byte) 1)) {
      assertThat(event.isDone()).isTrue();
      assertThatIllegalStateException().isThrownBy(event::await);
    }
    Block other = device.allocate(100, 1, BlockKind.DEVICE);
    done(queue.fill(other, 0, 100, (byte) 1));
    queue.finish();
    assertThat(other.segment().get(JAVA_BYTE, 99)).isEqualTo((byte) 1);
    other.free();
  }

  @Test
  void foreignMemoryIsUsedWhereItLiesAndIsNotFreed() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment foreign = arena.allocate(64);
      Block adopted = device.adopt(foreign);
      done(queue.fill(adopted, 8, 8, (byte) 5));
      adopted.free();
      assertThat(foreign.get(JAVA_BYTE, 7)).isZero();
      assertThat(foreign.get(JAVA_BYTE, 8)).isEqualTo((byte) 5);
    }
  }

  @Test
  void sourcesOfOtherDevicesAreRefusedByName() {
    assertThatThrownBy(() -> device.compile(KernelSource.opencl("", "f"), List.of()))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessage(
            "cpu:0 runs elementwise, Java method and Java kernels, not the OpenCL kernel f");
    assertThatThrownBy(() -> device.compile(KernelSource.cuda("", "f"), List.of()))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageEndingWith("not the CUDA kernel f");
  }

  private static void done(Event event) {
    try (event) {
      event.await();
    }
  }
}
