package dev.tidepool.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.NativeAccess;
import dev.tidepool.NativeHandle;
import dev.tidepool.Tidepool;
import dev.tidepool.testkit.RandomWorkload;
import dev.tidepool.testkit.fault.FaultInjector;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random operations equal plain arrays, on one device and on several, and when calls fail. */
@ExtendWith(NothingLeaks.class)
@Tag("pageable") // some transfers ask for plain memory
@Timeout(300)
class RandomWorkloadTest {
  /** More by hand: {@code -Dtidepool.test.operations}. */
  private static final int OPERATIONS = Integer.getInteger("tidepool.test.operations", 5_000);

  /** What another library does with memory that it was lent. */
  static void fill(NativeAccess access, NativeHandle handle, int word) {
    if (handle.byteSize() > 0) {
      Cuda.cuCtxPushCurrent(access.context());
      try {
        Cuda.cuMemsetD8Async(handle.address(), (byte) word, handle.byteSize(), access.queue());
      } finally {
        var _ = Cuda.cuCtxPopCurrent();
      }
    }
  }

  private static RandomWorkload workload(Tidepool tidepool, String accelerator) {
    return new RandomWorkload(tidepool, accelerator).nativeFill(RandomWorkloadTest::fill);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void buffersEqualTheModel(int devices) {
    Simulation.with(devices);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThat(workload(tidepool, "cuda:0").operations(OPERATIONS).threads(4).run()).isPositive();
    }
  }

  @Test
  void soTheyDoWhereCommandsTakeTheirTime() {
    Simulation.with(2).setAll("latency_ns", 30_000);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThat(workload(tidepool, "cuda:1").operations(OPERATIONS).threads(4).run()).isPositive();
    }
  }

  @Test
  void soTheyDoWhereAllCommandsShareAStreamOfAnotherLibrary() {
    Simulation.with(1);
    try (Library library = Library.on(0);
        Tidepool tidepool =
            Simulation.under(library.settings(), () -> Simulation.open(new CudaProvider()))) {
      assertThat(new RandomWorkload(tidepool, "cuda:0").operations(OPERATIONS).threads(4).run())
          .isPositive();
    }
  }

  @Test
  void soTheyDoWhereHostAndDeviceTakeTurns() {
    Simulation.with(1).setAll("attribute." + Simulation.CONCURRENT_MANAGED_ACCESS, 0);
    try (Tidepool tidepool = Simulation.open(new CudaProvider())) {
      assertThat(workload(tidepool, "cuda:0").operations(OPERATIONS).threads(4).run()).isPositive();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void failingCallsSpoilNothingElse(int devices) {
    Simulation.with(devices);
    FaultInjector faults = new FaultInjector(new CudaProvider());
    try (Tidepool tidepool = Simulation.open(faults)) {
      assertThat(workload(tidepool, "cuda:0").faults(faults).operations(OPERATIONS).run())
          .isPositive();
    }
  }

  /** Room for a few of the largest buffers; the rest is in the file, whatever kind it came from. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void underALimitBuffersEqualTheModelToo(int concurrentManagedAccess, @TempDir Path directory) {
    Simulation.with(2)
        .setAll("attribute." + Simulation.CONCURRENT_MANAGED_ACCESS, concurrentManagedAccess);
    FaultInjector faults = new FaultInjector(new CudaProvider());
    try (Tidepool tidepool = Simulation.open(faults)) {
      RandomWorkload workload = workload(tidepool, "cuda:0").faults(faults).tight(directory);
      assertThat(workload.operations(OPERATIONS).threads(4).run()).isPositive();
    }
  }
}
