package dev.tidepool.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectNestedClass;

import dev.tidepool.Tidepool;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.conformance.Topic;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;

class ChosenTopicsTest {
  static class BoundsCase extends AcceleratorConformance {
    @Override
    protected String accelerator() {
      return "cpu:0";
    }

    @Override
    protected Tidepool open() {
      return Discovery.using(List.of(), Tidepool::open);
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return topic == Bounds.class;
    }
  }

  private static EngineExecutionResults run(Class<? extends Topic> topic) {
    return EngineTestKit.engine("junit-jupiter")
        .selectors(selectNestedClass(List.of(BoundsCase.class), topic))
        .execute();
  }

  @Test
  void aTopicThatTheSuiteChoosesRuns() {
    EngineExecutionResults results = run(AcceleratorConformance.Bounds.class);
    results.containerEvents().assertStatistics(containers -> containers.skipped(0));
    Events tests = results.testEvents();
    assertThat(tests.succeeded().count()).isPositive().isEqualTo(tests.started().count());
  }

  @Test
  @DisabledIfSystemProperty(named = "tidepool.test.long", matches = "true")
  void aTopicThatTheSuiteLeavesOutIsSkipped() {
    EngineExecutionResults results = run(AcceleratorConformance.Closed.class);
    results.containerEvents().assertStatistics(containers -> containers.skipped(1));
    results.testEvents().assertStatistics(tests -> tests.started(0));
  }
}
