package dev.tidepool.methods.jvm;

/** Generated code of a kernel. Stateless. */
interface KernelCode {
  /**
   * Runs the items of a box. Kernels that use groups get boxes of one group.
   *
   * @param memory the arrays, as the kernel's {@link MemoryPlan} lists them
   * @param scalars raw bits of the scalars and lengths, as the plan lists them
   * @param box the box, in the layout of {@link Box}
   */
  void run(Object[] memory, long[] scalars, long[] box);
}
