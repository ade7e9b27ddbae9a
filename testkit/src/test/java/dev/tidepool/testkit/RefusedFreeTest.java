package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.spi.Discovery;
import dev.tidepool.spi.HostAccess;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A driver that refuses to free a block keeps nothing else from ending. */
@ExtendWith(QuietLog.class)
class RefusedFreeTest {
  @TempDir private Path folder;

  @Test
  void aSharedFileIsDeletedByItsLastUserAlthoughTheDeviceKeepsItsBlock() {
    FaultInjector faults =
        new FaultInjector(
            new SimulatedProvider(SimulatedHardware.discrete().withHostAccess(HostAccess.DIRECT)));
    MemoryOptions options = MemoryOptions.builder().sharedDirectory(folder).pooling(false).build();
    try (Tidepool tidepool = Discovery.using(List.of(faults), () -> Tidepool.open(options))) {
      UnifiedBuffer<int[]> buffer = tidepool.memory().createShared(ElementType.INT, 100, "shared");
      buffer.prefetchToDevice(); // the block is the device's copy, which no pool keeps
      assertThat(folder).isNotEmptyDirectory();
      faults.fail(SpiCall.FREE, 1, Failure.REFUSED);
      buffer.close();
      assertThat(faults.fired()).contains(SpiCall.FREE);
      assertThat(folder).isEmptyDirectory();
      assertThat(tidepool.memory().statistics().totalAllocated()).isZero();
    }
  }
}
