package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.stream.ElementSource;
import dev.tidepool.stream.Pipeline;
import dev.tidepool.stream.StreamOptions;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A pipeline ends wherever the heap becomes full in its workers. */
@ExtendWith(QuietLog.class)
@Timeout(240)
class FullHeapPipelineTest {
  /** Runs in a row that no allocation failed in until the last allocation was seen. */
  private static final int ENOUGH = 3;

  private static final int LENGTH = 4096;

  @ParameterizedTest
  @ValueSource(strings = {"cpu:0", "simulated:0"})
  void itEnds(String accelerator) throws Exception {
    FullHeap.run(Scenario.class, String.class, accelerator);
  }

  /** What the test does, with a library whose heap can be full. */
  static final class Scenario implements Callable<Void> {
    private final String accelerator;

    Scenario(String accelerator) {
      this.accelerator = accelerator;
    }

    @Override
    public Void call() {
      SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
      try (Tidepool tidepool =
          Discovery.using(List.of(simulated), () -> Tidepool.open(MemoryOptions.defaults()))) {
        UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator(accelerator));
        runEverywhere(false, memory);
        runEverywhere(true, memory);
      }
      return null;
    }

    /** Lets each allocation behind the first read fail, by itself or with those behind it. */
    private static void runEverywhere(boolean stays, UnifiedMemoryManager memory) {
      int clean = 0;
      for (int number = 0; clean < ENOUGH; number++) {
        clean = runAfter(number, stays, memory) ? 0 : clean + 1;
      }
    }

    /** Runs a pipeline, and lets an allocation of it fail; whether one did. */
    private static boolean runAfter(int number, boolean stays, UnifiedMemoryManager memory) {
      AtomicLong count = new AtomicLong();
      Pipeline pipeline =
          Pipeline.from("x", new Filling(number, stays))
              .through("y = x + 1")
              .to("y", ElementType.FLOAT, (_, elements) -> count.addAndGet(elements.length))
              .on(memory);
      boolean failed;
      try {
        pipeline.run(StreamOptions.defaults());
        assertThat(count).hasValue(LENGTH);
      } catch (OutOfMemoryError full) {
        // It has ended, as it should.
      } catch (RuntimeException full) {
        assertThat(full).hasRootCauseInstanceOf(OutOfMemoryError.class);
      } finally {
        failed = FullHeap.clear();
      }
      return failed;
    }
  }

  /** Ones. The first read fills the heap after some allocations. */
  private static final class Filling implements ElementSource {
    private final int number;
    private final boolean stays;
    private final AtomicBoolean read = new AtomicBoolean();

    Filling(int number, boolean stays) {
      this.number = number;
      this.stays = stays;
    }

    @Override
    public ElementType<?> elementType() {
      return ElementType.FLOAT;
    }

    @Override
    public long length() {
      return LENGTH;
    }

    @Override
    public void read(long elementOffset, MemorySegment destination) {
      destination.fill((byte) 1);
      if (read.compareAndSet(false, true)) {
        FullHeap.fillUpAfter(number, stays);
      }
    }
  }
}
