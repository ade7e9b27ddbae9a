package dev.tidepool.spi;

/**
 * A kind of accelerators, such as all OpenCL devices; found with {@link java.util.ServiceLoader}.
 */
public interface AcceleratorProvider {
  /** Returns the prefix of its devices' ids: {@code opencl}. */
  String name();

  /**
   * Looks for devices. Each call opens devices of its own, which the caller closes. Never throws
   * because something is absent or broken: that is a note. Leaves the process's signal handlers as
   * they were.
   */
  Discovery discover();

  /**
   * Looks for devices and opens them as a {@code Tidepool} asks. This is {@link #discover()} where
   * the options make no difference. A provider that wraps another one passes them on.
   */
  default Discovery discover(DeviceOptions options) {
    return discover();
  }

  /**
   * Returns whether it is certain, without loading a driver, that {@link #discover} would find
   * nothing but this machine's own processor. A caller that wants another accelerator need not look
   * then: loading a driver takes long. Answering false is always right.
   */
  default boolean offersOnlyTheCpu() {
    return false;
  }
}
