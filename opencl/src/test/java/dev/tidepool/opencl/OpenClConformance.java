package dev.tidepool.opencl;

import dev.tidepool.Tidepool;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.AcceleratorConformance;
import dev.tidepool.testkit.conformance.Topic;
import java.util.List;

/** What every accelerator promises, over the first OpenCL device, used in one of its ways. */
abstract class OpenClConformance extends AcceleratorConformance {
  private final MemoryMode mode;

  OpenClConformance(MemoryMode mode) {
    this.mode = mode;
  }

  @Override
  protected String accelerator() {
    return "opencl:0";
  }

  @Override
  protected Tidepool open() {
    return open(mode);
  }

  /**
   * All topics where memory is shared in full; the other modes leave out what they cannot change.
   */
  @Override
  protected boolean runs(Class<? extends Topic> topic) {
    return mode == MemoryMode.FINE_SHARED_POINTERS || !OF_ANY_MEMORY.contains(topic);
  }

  /** A Tidepool whose OpenCL devices are used in one of their ways; skips where there are none. */
  static Tidepool open(MemoryMode mode) {
    Pocl.devices().forEach(Device::close);
    return Pocl.with(
        mode.settings, () -> Discovery.using(List.of(new OpenClProvider()), Tidepool::open));
  }
}
