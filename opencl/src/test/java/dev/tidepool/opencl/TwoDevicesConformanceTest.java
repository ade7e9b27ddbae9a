package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Tidepool;
import dev.tidepool.testkit.RandomWorkload;
import dev.tidepool.testkit.conformance.Topic;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The suite over two devices of one platform: run with {@code POCL_DEVICES="pthread pthread"}. */
class TwoDevicesConformanceTest {
  private static Tidepool two(MemoryMode mode) {
    Tidepool tidepool = OpenClConformance.open(mode);
    if (tidepool.accelerators().size() < 3) {
      tidepool.close();
      assumeTrue(false, "ONE OPENCL DEVICE: set POCL_DEVICES=\"pthread pthread\" for two");
    }
    return tidepool;
  }

  @Nested
  class Shared extends OpenClConformance {
    Shared() {
      super(MemoryMode.FINE_SHARED_POINTERS);
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return OF_SEVERAL_DEVICES.contains(topic);
    }

    @Override
    protected Tidepool open() {
      return two(MemoryMode.FINE_SHARED_POINTERS);
    }
  }

  @Nested
  class Discrete extends OpenClConformance {
    Discrete() {
      super(MemoryMode.DISCRETE);
    }

    @Override
    protected boolean runs(Class<? extends Topic> topic) {
      return OF_SEVERAL_DEVICES.contains(topic);
    }

    @Override
    protected Tidepool open() {
      return two(MemoryMode.DISCRETE);
    }

    @Override
    protected String accelerator() {
      return "opencl:1";
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"COARSE_SHARED_POINTERS", "DISCRETE"})
  @Timeout(300)
  void randomWorkOnTwoDevicesEqualsTheModel(MemoryMode mode) {
    try (Tidepool tidepool = two(mode)) {
      assertThat(new RandomWorkload(tidepool, "opencl:0").operations(10_000).threads(4).run())
          .isPositive();
    }
  }
}
