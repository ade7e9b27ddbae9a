package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SelftestTest {
  @Test
  void runs_the_conformance_suite_and_measures_bandwidths() {
    Command.Result result = Command.run("selftest", "--device", "cpu:0", "--random", "500");
    assertThat(result.status()).as(result.out()).isZero();
    assertThat(result.err()).isEmpty();
    assertThat(result.out()).startsWith("cpu:0  ").containsPattern("[1-9][\\d,]* passed, 0 failed");
    assertThat(result.out()).containsPattern("500 random operations, [1-9][\\d,]* elements");
    assertThat(result.out())
        .contains("coherence", "lifetime", "bandwidth", "latency", "array to device");
    assertThat(result.out().lines()).allSatisfy(line -> assertThat(line).hasSizeLessThan(81));
  }

  @Test
  void refuses_less_than_no_random_operations() {
    Command.Result result = Command.run("selftest", "--device", "cpu:0", "--random", "-1");
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.err()).contains("--random -1");
  }

  @Test
  void refuses_an_accelerator_that_is_not_there() {
    Command.Result result = Command.run("selftest", "--device", "opencl:99");
    assertThat(result.status()).isEqualTo(2);
    assertThat(result.err()).startsWith("tidepool: ").contains("opencl:99", "cpu:0");
  }
}
