package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.testkit.engine.EventConditions.finishedWithFailure;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.instanceOf;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.message;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;

class LeakFreeTest {
  private static Events run(Class<?> tests) {
    return EngineTestKit.engine("junit-jupiter")
        .selectors(selectClass(tests))
        .execute()
        .testEvents();
  }

  @LeakFree(accelerator = "cpu:0")
  static class TidyCase {
    @Test
    void closesWhatItOpens(UnifiedMemoryManager memory, Tidepool tidepool) {
      assertThat(tidepool.memory(memory.accelerator())).isSameAs(memory);
      try (UnifiedBuffer<float[]> buffer = memory.allocate(ElementType.FLOAT, 10)) {
        buffer.fill((byte) 0);
        buffer.copyFromAsync(new float[10]);
      }
    }
  }

  @LeakFree(accelerator = "cpu:0")
  static class LeakyCase {
    @Test
    void leavesABufferOpen(UnifiedMemoryManager memory) {
      memory.allocate(
          ElementType.FLOAT, 250, Allocation.at(MemoryLocation.HOST).tag("the forgotten one"));
    }
  }

  static class FieldCase {
    UnifiedMemoryManager memory;

    @BeforeEach
    void open() {
      memory = UnifiedMemoryManager.create();
      memory.allocate(ElementType.BYTE, 1, Allocation.at(MemoryLocation.HOST).tag("set up"));
    }

    @AfterEach
    void close() {
      memory.close();
    }

    @Test
    @LeakFree
    void leavesABufferOpen() {
      memory.allocate(ElementType.INT, 3, Allocation.at(MemoryLocation.HOST).tag("lost"));
    }

    @Test
    @LeakFree
    void closesItsOwn() {
      memory.allocate(ElementType.INT, 3).close();
    }
  }

  @LeakFree(accelerator = "cpu:0")
  static class FailingCase {
    @Test
    void failsForAReasonOfItsOwn(UnifiedMemoryManager memory) {
      memory.allocate(ElementType.FLOAT, 250);
      throw new UnsupportedOperationException("its own");
    }
  }

  @LeakFree(accelerator = "cpu:0")
  static class OuterCase {
    @Nested
    class Inner {
      @Test
      void hasTheAcceleratorOfTheClassAround(UnifiedMemoryManager memory) {
        assertThat(memory.accelerator().id()).isEqualTo("cpu:0");
      }
    }
  }

  @Test
  void aNestedTestHasTheAcceleratorOfTheClassAroundIt() {
    SimulatedProvider better = new SimulatedProvider(SimulatedHardware.discrete());
    Discovery.using(List.of(better), () -> run(OuterCase.class))
        .assertStatistics(tests -> tests.started(1).succeeded(1));
    assertThat(better.devices()).isNotEmpty();
  }

  @Test
  void aTestThatClosesItsBuffersPasses() {
    run(TidyCase.class).assertStatistics(tests -> tests.started(1).succeeded(1));
  }

  @Test
  void aTestThatLeavesABufferOpenFailsWithItsTagBytesAndSite() {
    run(LeakyCase.class)
        .assertThatEvents()
        .haveExactly(
            1,
            finishedWithFailure(
                instanceOf(AssertionError.class),
                message(
                    text ->
                        text.contains("'the forgotten one': FLOAT[250], 1000 bytes in HOST")
                            && text.contains("of cpu:0")
                            && text.contains("leavesABufferOpen"))));
  }

  @Test
  void managersInFieldsAreCheckedForWhatTheTestMethodOpened() {
    Events events = run(FieldCase.class);
    events.assertStatistics(tests -> tests.started(2).succeeded(1).failed(1));
    events
        .assertThatEvents()
        .haveExactly(
            1,
            finishedWithFailure(
                message(text -> text.contains("'lost'") && !text.contains("set up"))));
  }

  @Test
  void aTestThatFailedAnywayFailsWithItsOwnReason() {
    run(FailingCase.class)
        .assertThatEvents()
        .haveExactly(1, finishedWithFailure(instanceOf(UnsupportedOperationException.class)));
  }
}
