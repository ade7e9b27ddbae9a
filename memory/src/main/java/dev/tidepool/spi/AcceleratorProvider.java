package dev.tidepool.spi;

/**
 * Discovers accelerators of one kind, such as all OpenCL devices. Found with {@link
 * java.util.ServiceLoader}.
 */
public interface AcceleratorProvider {
  /** Returns the prefix of the devices' ids, such as {@code opencl}. */
  String name();

  /**
   * Discovers devices. Each call opens new devices, which the caller closes. Does not throw if a
   * driver is absent or broken, but adds a note. Does not change the process's signal handlers.
   */
  Discovery discover();

  /**
   * Discovers devices and opens them with the options of a {@code Tidepool}. The default is {@link
   * #discover()}, for providers that have no use for options. A provider that wraps another one
   * must pass the options on.
   */
  default Discovery discover(DeviceOptions options) {
    return discover();
  }

  /**
   * Returns whether it is certain, without loading a driver, that {@link #discover} would find only
   * this machine's own processor. A caller that wants another accelerator can then skip discovery,
   * because loading a driver takes long. False is always correct.
   */
  default boolean offersOnlyTheCpu() {
    return false;
  }
}
