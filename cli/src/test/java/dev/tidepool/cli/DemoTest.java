package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.Accelerator;
import dev.tidepool.Tidepool;
import org.junit.jupiter.api.Test;

class DemoTest {
  @Test
  void shows_verified_results_of_every_accelerator_in_80_columns() {
    Command.Result result = Command.run("demo");
    assertThat(result.err()).isEmpty();
    assertThat(result.status()).isZero();
    try (Tidepool tidepool = Tidepool.open()) {
      for (Accelerator accelerator : tidepool.accelerators()) {
        assertThat(result.out()).contains(accelerator.id());
      }
      assertThat(result.out().split("verified: all")).hasSize(tidepool.accelerators().size() + 1);
    }
    assertThat(result.out())
        .contains("driver calls for", "served by the pool", "otherwise", "Java loop", "an arena")
        .doesNotContain("WRONG");
    assertThat(result.out().lines()).allSatisfy(line -> assertThat(line).hasSizeLessThan(81));
  }
}
