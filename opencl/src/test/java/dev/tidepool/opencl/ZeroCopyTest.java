package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A device that shares the host's memory computes in it, unless its Tidepool does without. */
class ZeroCopyTest {
  private static Tidepool open(boolean zeroCopy) {
    Pocl.devices().forEach(Device::close);
    return Discovery.using(
        List.of(new OpenClProvider()),
        () -> Tidepool.open(MemoryOptions.builder().zeroCopyBuffers(zeroCopy).build()));
  }

  private static boolean sharesMemory(Tidepool tidepool) {
    Accelerator accelerator = tidepool.accelerator("opencl:0");
    return accelerator.capabilities().contains(Capability.SHARED_MEMORY);
  }

  /** Bytes that move between host and device for one kernel over bytes that the host wrote. */
  private static long moved(Tidepool tidepool) {
    UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("opencl:0"));
    float[] seen = new float[1000];
    try (UnifiedBuffer<float[]> x = memory.copyOf(new float[1000])) {
      memory.compile(KernelSource.elementwise("x = x + 1")).execute(Arguments.of("x", x));
      x.copyTo(seen);
    }
    assertThat(seen).containsOnly(1);
    return memory.transfers().statistics().hostToDeviceBytes();
  }

  @Test
  void oneTidepoolCopiesBesideOneThatDoesNot() {
    try (Tidepool zeroCopy = open(true);
        Tidepool copying = open(false)) {
      assumeTrue(sharesMemory(zeroCopy), "the device has memory of its own");
      assertThat(sharesMemory(copying)).isFalse();
      assertThat(moved(zeroCopy)).isZero();
      assertThat(moved(copying)).isEqualTo(4 * 1000);
    }
  }
}
