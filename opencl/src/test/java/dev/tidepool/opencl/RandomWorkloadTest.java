package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.NativeKind;
import dev.tidepool.Tidepool;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.RandomWorkload;
import dev.tidepool.testkit.fault.FaultInjector;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Random operations equal plain arrays, however the device is used, and when its driver fails. */
@ExtendWith(NothingLeaks.class)
@Timeout(300)
class RandomWorkloadTest {
  /** More by hand: {@code -Dtidepool.test.operations}. */
  private static final int OPERATIONS = Integer.getInteger("tidepool.test.operations", 5_000);

  /** What another library does with memory that it was lent. */
  private static void fill(NativeAccess access, NativeHandle handle, int word) {
    if (handle.byteSize() > 0) {
      long event =
          handle.kind() == NativeKind.OPENCL_SVM
              ? SvmFunctions.find()
                  .orElseThrow()
                  .clEnqueueSVMMemFill(access.queue(), handle.segment(), (byte) word)
              : OpenCL.clEnqueueFillBuffer(
                  access.queue(), handle.value(), (byte) word, handle.offset(), handle.byteSize());
      OpenCL.clReleaseEvent(event);
    }
  }

  private static RandomWorkload workload(Tidepool tidepool) {
    return new RandomWorkload(tidepool, "opencl:0").nativeFill(RandomWorkloadTest::fill);
  }

  @ParameterizedTest
  @EnumSource(
      names = {"FINE_SHARED_POINTERS", "COARSE_SHARED_POINTERS", "SHARED_BUFFERS", "DISCRETE"})
  void buffersEqualTheModel(MemoryMode mode) {
    try (Tidepool tidepool = OpenClConformance.open(mode)) {
      assertThat(workload(tidepool).operations(2 * OPERATIONS).threads(4).run()).isPositive();
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"COARSE_SHARED_POINTERS", "DISCRETE"})
  void failingCallsSpoilNothingElse(MemoryMode mode) {
    Pocl.devices().forEach(Device::close);
    FaultInjector faults = new FaultInjector(new OpenClProvider());
    try (Tidepool tidepool =
        Pocl.with(mode.settings, () -> Discovery.using(List.of(faults), Tidepool::open))) {
      assertThat(workload(tidepool).faults(faults).operations(OPERATIONS).run()).isPositive();
    }
  }

  /** Room for a few of the largest buffers; the rest is in the file, whatever kind it came from. */
  @ParameterizedTest
  @EnumSource(
      names = {"FINE_SHARED_POINTERS", "COARSE_SHARED_POINTERS", "SHARED_BUFFERS", "DISCRETE"})
  void underALimitBuffersEqualTheModelToo(MemoryMode mode, @TempDir Path directory) {
    Pocl.devices().forEach(Device::close);
    FaultInjector faults = new FaultInjector(new OpenClProvider());
    try (Tidepool tidepool =
        Pocl.with(mode.settings, () -> Discovery.using(List.of(faults), Tidepool::open))) {
      RandomWorkload workload = workload(tidepool).faults(faults).tight(directory);
      assertThat(workload.operations(OPERATIONS).threads(4).run()).isPositive();
    }
  }
}
