package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedDevice;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A heap that is full anywhere in the close of a Tidepool leaves nothing on the device. */
@ExtendWith(QuietLog.class)
@Timeout(240)
class FullHeapCloseTest {
  /** Closes in a row that no allocation failed in until the last allocation was seen. */
  private static final int ENOUGH = 3;

  private static final int LENGTH = 10_000;

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void nothingIsLeft(boolean stays) throws Exception {
    FullHeap.run(Scenario.class, boolean.class, stays);
  }

  /** What the test does, with a library whose heap can be full. */
  static final class Scenario implements Callable<Void> {
    private final boolean stays;

    Scenario(boolean stays) {
      this.stays = stays;
    }

    @Override
    public Void call() {
      int clean = 0;
      for (int number = 0; clean < ENOUGH; number++) {
        SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
        clean = closeAfter(number, simulated) ? 0 : clean + 1;
        Leftovers.assertNone(simulated);
        SimulatedDevice device = simulated.device("simulated:0");
        assertThat(device.openQueues()).as("queues, with a full heap after %s", number).isZero();
        assertThat(device.livePrograms())
            .as("programs, with a full heap after %s", number)
            .isZero();
      }
      return null;
    }

    /** Closes, and lets an allocation of that fail; whether one did. */
    private boolean closeAfter(int number, SimulatedProvider simulated) {
      Tidepool tidepool =
          Discovery.using(List.of(simulated), () -> Tidepool.open(MemoryOptions.defaults()));
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
      UnifiedBuffer<float[]> x = memory.allocate(ElementType.FLOAT, LENGTH, MemoryLocation.DEVICE);
      x.copyFrom(new float[LENGTH]);
      UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, LENGTH);
      memory.compile(KernelSource.elementwise("y = 2*x")).execute(Arguments.of("y", y, "x", x));
      memory.reserve("some", 1 << 20, Duration.ZERO);
      x.close();
      boolean failed;
      FullHeap.fillUpAfter(number, stays);
      try {
        tidepool.close();
      } catch (OutOfMemoryError full) {
        // A second close goes on with it.
      } finally {
        failed = FullHeap.clear();
      }
      tidepool.close();
      return failed;
    }
  }
}
