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
