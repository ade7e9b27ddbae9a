package dev.tidepool.cli;

import dev.tidepool.testkit.AcceleratorConformance;

/**
 * The suite over one accelerator of this machine. The test engine creates instances and calls them
 * on its own threads, so a static field holds the accelerator's id.
 */
final class MachineConformance extends AcceleratorConformance {
  private static volatile String id = "cpu:0";

  /** Selects the accelerator of the next run. */
  static void choose(String accelerator) {
    id = accelerator;
  }

  @Override
  protected String accelerator() {
    return id;
  }

  /** Returns false: without a vendor's compiler, the suite tests everything except kernels. */
  @Override
  protected boolean needsCompiler() {
    return false;
  }
}
