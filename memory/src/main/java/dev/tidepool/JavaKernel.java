package dev.tidepool;

/**
 * A kernel's body in Java.
 *
 * <p>Called once for each work item, by several threads at once; the items of one group run one
 * after another on one thread. There is no barrier within a group. It must not keep the item.
 */
@FunctionalInterface
public interface JavaKernel {
  /** Computes one work item. What it throws fails the execution. */
  void run(WorkItem item);
}
