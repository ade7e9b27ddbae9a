package consumer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectNestedClass;

import dev.tidepool.ElementType;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.AcceleratorConformance;
import dev.tidepool.testkit.LeakFree;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;

/** The testkit in a project that has a JUnit of its own. */
class LeakFreeConsumerTest {
  @LeakFree(accelerator = "cpu:0")
  static class TidyCase {
    static UnifiedMemoryManager manager;

    @Test
    void closesWhatItOpens(UnifiedMemoryManager memory, Tidepool tidepool) {
      manager = memory;
      try (UnifiedBuffer<float[]> buffer = memory.copyOf(new float[] {1, 2})) {
        float[] back = new float[2];
        buffer.copyTo(back);
        assertEquals(2, back[1]);
      }
    }
  }

  @LeakFree(accelerator = "cpu:0")
  static class LeakyCase {
    @Test
    void leavesABufferOpen(UnifiedMemoryManager memory) {
      memory.allocate(ElementType.FLOAT, 250);
    }

    @Test
    void leavesABufferOfItsOwnManagerOpen() {
      try (UnifiedMemoryManager own = UnifiedMemoryManager.create("cpu:0")) {
        own.allocate(ElementType.FLOAT, 250);
      }
    }
  }

  static class ConformanceCase extends AcceleratorConformance {
    @Override
    protected String accelerator() {
      return "cpu:0";
    }
  }

  @Test
  void theManagerOfAParameterIsClosedWithTheTest() {
    run(selectClass(TidyCase.class)).assertStatistics(tests -> tests.started(1).succeeded(1));
    // A store that closes other resources only would leave it open without a word.
    assertThrows(
        IllegalStateException.class, () -> TidyCase.manager.allocate(ElementType.FLOAT, 1));
  }

  @Test
  void aLeakFailsTheTest() {
    Events tests = run(selectClass(LeakyCase.class));
    tests.assertStatistics(found -> found.started(2).failed(2));
    tests.failed().stream()
        .map(event -> event.getRequiredPayload(org.junit.platform.engine.TestExecutionResult.class))
        .forEach(
            result ->
                assertTrue(
                    result
                        .getThrowable()
                        .orElseThrow()
                        .getMessage()
                        .startsWith("the test left 1 buffer open"),
                    result::toString));
  }

  @Test
  void aTopicOfTheConformanceSuiteRuns() {
    run(selectNestedClass(List.of(ConformanceCase.class), AcceleratorConformance.Bounds.class))
        .assertStatistics(tests -> tests.failed(0).aborted(0))
        .succeeded()
        .stream()
        .findAny()
        .orElseThrow();
  }

  private static Events run(DiscoverySelector selector) {
    return EngineTestKit.engine("junit-jupiter").selectors(selector).execute().testEvents();
  }
}
