package dev.tidepool.testkit;

import dev.tidepool.Tidepool;
import dev.tidepool.spi.Discovery;
import java.util.List;

class CpuConformanceTest extends AcceleratorConformance {
  @Override
  protected Tidepool open() {
    return Discovery.using(List.of(), Tidepool::open);
  }

  @Override
  protected String accelerator() {
    return "cpu:0";
  }
}
