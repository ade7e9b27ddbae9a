package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Patterns;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A heap that is full anywhere in a defragmentation gives no buffer another one's memory. */
@ExtendWith(QuietLog.class)
@Timeout(240)
class FullHeapDefragmentationTest {
  /** Passes in a row that no allocation failed in until the last allocation was seen. */
  private static final int ENOUGH = 3;

  private static final int SMALL = 48 << 10;
  private static final int BUFFERS = 32;

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void everyBufferKeepsItsBytes(boolean stays) throws Exception {
    FullHeap.run(Scenario.class, boolean.class, stays);
  }

  @Test
  void aPassThatCouldNotBeginIsNotTheLast() throws Exception {
    FullHeap.run(BackgroundScenario.class, boolean.class, false);
  }

  /** A pass in the background, as the maintenance thread begins it. */
  static final class BackgroundScenario implements Callable<Void> {
    BackgroundScenario(boolean ignored) {}

    @Override
    public Void call() throws Exception {
      int clean = 0;
      for (int number = 0; clean < ENOUGH; number++) {
        SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
        Tidepool tidepool =
            Discovery.using(List.of(simulated), () -> Tidepool.open(MemoryOptions.defaults()));
        UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
        List<UnifiedBuffer<byte[]>> buffers = Scenario.scattered(memory);
        Object reclaimer = of(memory, "reclaimer").invoke(memory);
        Method begin = of(reclaimer, "defragmentIfScattered");
        boolean failed;
        FullHeap.fillUpAfter(number, false);
        try {
          begin.invoke(reclaimer);
        } catch (InvocationTargetException e) {
          assertThat(e).hasCauseInstanceOf(OutOfMemoryError.class);
        } finally {
          failed = FullHeap.clear();
        }
        clean = failed ? 0 : clean + 1;
        Field running = reclaimer.getClass().getDeclaredField("defragmenting");
        running.setAccessible(true);
        AtomicBoolean defragmenting = (AtomicBoolean) running.get(reclaimer);
        // The pass itself may find the heap full, which its thread tells the handler of.
        await()
            .dontCatchUncaughtExceptions()
            .alias("a pass with a full heap after " + number + " allocations ends")
            .untilFalse(defragmenting);
        buffers.forEach(UnifiedBuffer::close);
        tidepool.close();
      }
      return null;
    }

    private static Method of(Object target, String name) throws NoSuchMethodException {
      Method method = target.getClass().getDeclaredMethod(name);
      method.setAccessible(true);
      return method;
    }
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
        // A new one for each pass: a pool that has had many small blocks cuts larger slabs.
        Tidepool tidepool =
            Discovery.using(List.of(simulated), () -> Tidepool.open(MemoryOptions.defaults()));
        UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("simulated:0"));
        clean = defragmentAfter(number, memory) ? 0 : clean + 1;
        memory.trimExcess();
        assertThat(simulated.device("simulated:0").liveBlocks())
            .as("blocks with a full heap after %s allocations", number)
            .isZero();
        tidepool.close();
        assertThat(simulated.violations()).isEmpty();
      }
      return null;
    }

    /** Defragments, and lets an allocation of that fail; whether one did. */
    private boolean defragmentAfter(int number, UnifiedMemoryManager memory) {
      List<UnifiedBuffer<byte[]>> buffers = scattered(memory);
      long moved = 0;
      boolean failed;
      FullHeap.fillUpAfter(number, stays);
      try {
        moved = memory.defragment().movedBuffers();
      } catch (OutOfMemoryError full) {
        // What was not moved stays.
      } finally {
        failed = FullHeap.clear();
      }
      assertThat(failed || moved > 1).as("several buffers are moved, or the heap is full").isTrue();
      for (int i = 0; i < BUFFERS; i++) {
        if (i % 4 != 0) {
          buffers.set(i, filled(memory, i));
        }
      }
      byte[] contents = new byte[SMALL];
      for (int i = 0; i < BUFFERS; i++) {
        buffers.get(i).copyTo(contents);
        assertThat(contents)
            .as("buffer %s with a full heap after %s allocations", i, number)
            .isEqualTo(Patterns.array(ElementType.BYTE, SMALL, i));
      }
      buffers.forEach(UnifiedBuffer::close);
      return failed;
    }

    /** Returns buffers, of which three of four are closed. */
    static List<UnifiedBuffer<byte[]>> scattered(UnifiedMemoryManager memory) {
      List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
      for (int i = 0; i < BUFFERS; i++) {
        buffers.add(filled(memory, i));
      }
      for (int i = 0; i < BUFFERS; i++) {
        if (i % 4 != 0) {
          buffers.get(i).close();
        }
      }
      return buffers;
    }

    private static UnifiedBuffer<byte[]> filled(UnifiedMemoryManager memory, int seed) {
      UnifiedBuffer<byte[]> buffer =
          memory.allocate(ElementType.BYTE, SMALL, MemoryLocation.DEVICE);
      buffer.copyFrom(Patterns.array(ElementType.BYTE, SMALL, seed));
      return buffer;
    }
  }
}
