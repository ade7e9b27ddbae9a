package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.TidepoolException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.runtime.buffer.DeviceHold;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A heap that is full anywhere in a call leaves no staging block and no handle behind. */
@ExtendWith(QuietLog.class)
@Timeout(240)
class FullHeapTransfersTest {
  /** Calls in a row that no allocation failed in until the last allocation was seen. */
  private static final int ENOUGH = 3;

  private static final int LENGTH = 100;
  private static final int PARTS = 20;

  @ParameterizedTest
  @ValueSource(strings = {"small transfers", "device hold"})
  void nothingIsLeft(String call) throws Exception {
    FullHeap.run(Scenario.class, String.class, call);
  }

  /** What the test does, with a library whose heap can be full. */
  static final class Scenario implements Callable<Void> {
    private final boolean holds;

    Scenario(String call) {
      holds = call.equals("device hold");
    }

    @Override
    public Void call() {
      SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
      Tidepool tidepool =
          Discovery.using(List.of(simulated), () -> Tidepool.open(MemoryOptions.defaults()));
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
      UnifiedBuffer<float[]> buffer =
          memory.allocate(ElementType.FLOAT, LENGTH * PARTS, MemoryLocation.DEVICE);
      Runnable call =
          holds ? () -> DeviceHold.of(buffer, false, false).end() : () -> transfer(memory, buffer);
      call.run();
      int clean = 0;
      for (int number = 0; clean < ENOUGH; number++) {
        FullHeap.fillUpAfter(number, false);
        try {
          call.run();
        } catch (OutOfMemoryError | TidepoolException full) {
          // Some of it was done.
        }
        clean = FullHeap.clear() ? 0 : clean + 1;
      }
      buffer.close();
      memory.synchronize();
      assertThat(memory.buffers()).isEmpty();
      memory.trimExcess();
      assertThat(memory.statistics().reservedBytes()).isZero();
      tidepool.close();
      Leftovers.assertNone(simulated);
      return null;
    }

    private static void transfer(UnifiedMemoryManager memory, UnifiedBuffer<float[]> buffer) {
      List<Transfer<?>> list = new ArrayList<>();
      for (int i = 0; i < PARTS; i++) {
        list.add(Transfer.of(new float[LENGTH], buffer.slice((long) LENGTH * i, LENGTH)));
      }
      var _ = memory.transfers().transfer(list, TransferOptions.defaults());
    }
  }
}
