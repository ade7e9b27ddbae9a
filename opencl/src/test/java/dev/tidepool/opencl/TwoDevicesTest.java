package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.spi.Block;
import dev.tidepool.spi.BlockKind;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Queue;
import java.util.List;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Two devices of one platform: run with {@code POCL_DEVICES="basic basic"}. */
@ExtendWith(NothingLeaks.class)
class TwoDevicesTest {
  private static final int SIZE = 1 << 16;

  private static List<Device> two(MemoryMode mode) {
    List<Device> devices = Pocl.with(mode.settings, Pocl::devices);
    if (devices.size() < 2) {
      devices.forEach(Device::close);
    }
    assumeTrue(devices.size() >= 2, "ONE OPENCL DEVICE: set POCL_DEVICES=\"basic basic\" for two");
    return devices;
  }

  @ParameterizedTest
  @EnumSource
  void bytesGoDirectlyFromOneToTheOther(MemoryMode mode) {
    List<Device> devices = two(mode);
    try (Device first = devices.get(0);
        Device second = devices.get(1);
        Queue queue = first.createQueue();
        Queue other = second.createQueue()) {
      assertThat(second.copiesFrom(first)).isTrue();
      assertThat(first.copiesFrom(second)).isTrue();
      for (BlockKind kind : BlockKind.values()) {
        if (kind == BlockKind.UNIFIED && !mode.unified) {
          continue;
        }
        Block source = first.allocate(SIZE, 64, kind);
        Block target = second.allocate(SIZE, 64, BlockKind.DEVICE);
        byte[] sent = Bytes.pattern(SIZE, 1);
        byte[] expected = Bytes.pattern(SIZE, 2);
        Bytes.write(other, expected, target, 0);
        Bytes.write(queue, sent, source, 0);
        Bytes.await(other.copy(source, 5, target, 131, 1001));
        System.arraycopy(sent, 5, expected, 131, 1001);
        assertThat(Bytes.read(other, target, 0, SIZE)).isEqualTo(expected);
        // And back, by the other device's queue.
        Bytes.await(queue.copy(target, 0, source, 0, SIZE));
        assertThat(Bytes.read(queue, source, 0, SIZE)).isEqualTo(expected);
        source.free();
        target.free();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aQueueOfOneWaitsForAnEventOfTheOther(MemoryMode mode) {
    List<Device> devices = two(mode);
    try (Device first = devices.get(0);
        Device second = devices.get(1);
        Queue queue = first.createQueue();
        Queue other = second.createQueue()) {
      Block source = first.allocate(SIZE, 64, BlockKind.DEVICE);
      Block target = second.allocate(SIZE, 64, BlockKind.DEVICE);
      for (int round = 1; round <= 30; round++) {
        Event written = queue.fill(source, 0, SIZE, (byte) round);
        other.after(written);
        written.close();
        Event copied = other.copy(source, 0, target, 0, SIZE);
        queue.after(copied);
        Bytes.await(queue.fill(source, 0, SIZE, (byte) 0));
        Bytes.await(copied);
        assertThat(Bytes.read(other, target, 0, SIZE)).containsOnly(round);
      }
      source.free();
      target.free();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aProgramRunsOnTheDeviceThatItWasCompiledFor(MemoryMode mode) {
    KernelSource.OpenCl source =
        (KernelSource.OpenCl)
            KernelSource.opencl(
                "__kernel void two(__global char* y) { y[get_global_id(0)] = 2; }",
                "two",
                KernelParameter.out("y", ElementType.BYTE));
    List<Device> devices = two(mode);
    try (Device first = devices.get(0);
        Device second = devices.get(1);
        Queue queue = first.createQueue();
        Queue other = second.createQueue();
        Program program = second.compile(source, source.parameters())) {
      Block block = second.allocate(64, 64, BlockKind.DEVICE);
      Launch launch =
          new Launch(program, List.of(new KernelArgument.Array(block, 0, 64)), LaunchRange.of(64));
      assertThatThrownBy(() -> queue.launch(launch))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("opencl:0");
      Bytes.await(other.launch(launch));
      assertThat(Bytes.read(other, block, 0, 64)).containsOnly(2);
      block.free();
    }
  }

  @ParameterizedTest
  @EnumSource
  void closingOneLeavesTheOtherAtWork(MemoryMode mode) {
    List<Device> devices = two(mode);
    devices.get(0).close();
    try (Device second = devices.get(1);
        Queue queue = second.createQueue()) {
      Block block = second.allocate(64, 64, BlockKind.DEVICE);
      Bytes.await(queue.fill(block, 0, 64, (byte) 7));
      assertThat(Bytes.read(queue, block, 0, 64)).containsOnly(7);
      block.free();
    }
  }
}
