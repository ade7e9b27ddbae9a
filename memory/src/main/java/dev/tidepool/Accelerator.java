package dev.tidepool;

import java.util.Set;

/**
 * A device that computes. Valid until its {@link Tidepool} closes; safe for use by any thread.
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
  /** Returns the name to ask for it by: {@code cpu:0}, {@code opencl:1}. */
  String id();

  /** Returns the vendor's name for it. */
  String name();

  /** Returns what sort of processor it is. */
  AcceleratorKind kind();

  /** Returns what it can do beyond the minimum. */
  Set<Capability> capabilities();

  /** Returns its memory now. */
  MemoryInfo memory();

  /** Bytes of the largest single buffer that it allows. */
  long maximumAllocation();

  /** Returns the driver behind it, with its version. */
  String driver();
}
