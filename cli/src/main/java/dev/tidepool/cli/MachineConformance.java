package dev.tidepool.cli;

import dev.tidepool.testkit.AcceleratorConformance;

/**
 * The suite over one accelerator of this machine. The test engine makes instances and calls them
 * from threads of its own, so the accelerator's id stands in a field of the class.
 */
final class MachineConformance extends AcceleratorConformance {
  private static volatile String id = "cpu:0";

  /** Which accelerator the next run is about. */
  static void choose(String accelerator) {
    id = accelerator;
  }

  @Override
  protected String accelerator() {
    return id;
  }

  /** A machine without a vendor's compiler can do all but kernels, and is to show that. */
  @Override
  protected boolean needsCompiler() {
    return false;
  }
}
