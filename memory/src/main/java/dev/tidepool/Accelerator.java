package dev.tidepool;

import java.util.Set;

/**
 * A device that runs kernels. Valid until its {@link Tidepool} is closed. Thread-safe.
 *
 * {@snippet :
 * for (Accelerator accelerator : tidepool.accelerators()) {
 *   if (accelerator.capabilities().contains(Capability.FLOAT64)) {
 *     System.out.println(accelerator.name() + ", " + accelerator.memory().freeBytes() + " free");
 *   }
 * }
 * }
 */
public interface Accelerator {
  /** Returns the id that selects this accelerator, such as {@code cpu:0} or {@code opencl:1}. */
  String id();

  /** Returns the vendor's name of the accelerator. */
  String name();

  /** Returns the kind of processor. */
  AcceleratorKind kind();

  /** Returns the abilities beyond the minimum. */
  Set<Capability> capabilities();

  /** Returns the current state of the memory. */
  MemoryInfo memory();

  /** Returns the bytes of the largest single buffer that the accelerator allows. */
  long maximumAllocation();

  /** Returns the name and version of the driver. */
  String driver();
}
