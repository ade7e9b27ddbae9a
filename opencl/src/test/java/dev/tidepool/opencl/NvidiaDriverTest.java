package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

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
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is done for NVIDIA's driver, on PoCL under its name. */
class NvidiaDriverTest {
  private static final int LENGTH = 100;

  private static Settings settings(boolean nvidia) {
    return new Settings(Settings.Svm.NONE, false, nvidia);
  }

  private static Installed.Found found() {
    Pocl.devices().forEach(Device::close);
    Installed.Found pocl = Installed.look().devices().getFirst();
    DeviceProperties renamed =
        ChangedProperties.withMaker(pocl.properties(), DeviceProperties.Maker.NVIDIA);
    return new Installed.Found(new Platform(pocl.platform().handle(), List.of(renamed)), renamed);
  }

  @Test
  void itIsReadFromTheVersion() {
    assertThat(DeviceProperties.Maker.of("OpenCL 3.0 CUDA"))
        .isEqualTo(DeviceProperties.Maker.NVIDIA);
    assertThat(DeviceProperties.Maker.of("OpenCL 3.0 PoCL HSTR: pthread-x86_64"))
        .isEqualTo(DeviceProperties.Maker.POCL);
    assertThat(DeviceProperties.Maker.of("OpenCL 2.1 AMD-APP"))
        .isEqualTo(DeviceProperties.Maker.OTHER);
  }

  @Test
  void itIsLeftOutUnlessAskedFor() {
    List<String> notes = new ArrayList<>();
    assertThat(OpenClProvider.safe(List.of(found()), settings(false), notes)).isEmpty();
    assertThat(notes)
        .singleElement()
        .asString()
        .contains("tidepool-cuda", "tidepool.opencl.nvidia=always");
    assertThat(OpenClProvider.safe(List.of(found()), settings(true), notes)).hasSize(1);
  }

  @Test
  void eachLaunchHasAKernelObjectOfItsOwnAndTheContextStays() {
    Installed.Found found = found();
    KernelSource source = KernelSource.elementwise("y = y + 1");
    for (int opened = 0; opened < 2; opened++) {
      try (Device device = OpenClDevice.open("opencl:0", found, settings(true));
          Queue queue = device.createQueue();
          Program program =
              device.compile(source, List.of(KernelParameter.inout("y", ElementType.INT)));
          Arena arena = Arena.ofShared()) {
        long kernels = ObjectKind.LIVE.count(ObjectKind.KERNEL);
        Block block = device.allocate(LENGTH * 4L, 64, BlockKind.DEVICE);
        await(queue.fill(block, 0, block.byteSize(), (byte) 0));
        Launch launch =
            new Launch(
                program,
                List.of(new KernelArgument.Array(block, 0, LENGTH * 4L)),
                LaunchRange.of(LENGTH));
        for (int i = 0; i < 3; i++) {
          await(queue.launch(launch));
        }
        assertThat(ObjectKind.LIVE.count(ObjectKind.KERNEL)).isEqualTo(kernels);
        MemorySegment read = arena.allocate(LENGTH * 4L, 64);
        await(queue.read(block, 0, read));
        assertThat(read.toArray(ValueLayout.JAVA_INT)).containsOnly(3);
        block.free();
      }
      assertThat(found.platform().hold(found.properties()).letGo()).isFalse();
    }
  }

  private static void await(Event event) {
    try (event) {
      event.await();
    }
  }
}
