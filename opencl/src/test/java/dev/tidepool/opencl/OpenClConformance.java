package dev.tidepool.opencl;

import dev.tidepool.Tidepool;
import dev.tidepool.spi.Device;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.AcceleratorConformance;
import dev.tidepool.testkit.conformance.Topic;
import java.util.List;
import java.util.Set;

/** What every accelerator promises, over the first OpenCL device, used in one of its ways. */
abstract class OpenClConformance extends AcceleratorConformance {
  /** Topics in which it matters what kind of memory a kernel is given, and how it is mapped. */
  private static final Set<Class<? extends Topic>> OF_KINDS_OF_MEMORY =
      Set.of(
          AdoptedDeviceMemory.class,
          AdoptedMemory.class,
          Allocation.class,
          BufferCopy.class,
          Coherence.class,
          HandWrittenKernel.class,
          Kernel.class,
          Lending.class,
          Mapping.class,
          SegmentCopy.class,
          SuspensionAndReturn.class);

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
   * All topics where memory is shared in full, and nearly all where it is the device's own; the
   * modes between leave out what they cannot change.
   */
  @Override
  protected boolean runs(Class<? extends Topic> topic) {
    return switch (mode) {
      case FINE_SHARED_POINTERS -> true;
      case DISCRETE -> !OF_ANY_MEMORY.contains(topic);
      case COARSE_SHARED_POINTERS, SHARED_BUFFERS, DISCRETE_COARSE, DISCRETE_WITHOUT_POINTERS ->
          OF_KINDS_OF_MEMORY.contains(topic);
    };
  }

  /** A Tidepool whose OpenCL devices are used in one of their ways; skips where there are none. */
  static Tidepool open(MemoryMode mode) {
    Pocl.devices().forEach(Device::close);
    return Pocl.with(
        mode.settings, () -> Discovery.using(List.of(new OpenClProvider()), Tidepool::open));
  }
}
