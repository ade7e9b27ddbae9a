package dev.tidepool;

import java.util.Set;

/**
 * A device that computes, as far as users may know it. Valid until its {@link Tidepool} closes;
 * safe for use by any thread.
 */
public interface Accelerator {
  /** The name to ask for it by: {@code cpu:0}, {@code opencl:1}. */
  String id();

  /** The vendor's name for it. */
  String name();

  /** What sort of processor it is. */
  AcceleratorKind kind();

  /** What it can do beyond the minimum. */
  Set<Capability> capabilities();

  /** Its memory now. */
  MemoryInfo memory();

  /** Bytes of the largest single buffer that it allows. */
  long maximumAllocation();

  /** The driver behind it, with its version. */
  String driver();
}
