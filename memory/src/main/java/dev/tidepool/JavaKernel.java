package dev.tidepool;

/**
 * A kernel's body in Java.
 *
 * <p>Called once for each work item, by several threads at once; the items of one group run one
 * after another on one thread. There is no barrier within a group. The body must not keep the item.
 *
 * <p>A body may use Tidepool, and may wait for work on buffers that its own kernel does not use, by
 * {@code execute}, {@code join} and the like. Kernels whose bodies wait for kernels may nest 256
 * deep. Tidepool has few threads for bodies that wait by other means, such as a latch. If bodies
 * keep all of them waiting for a kernel that needs one, they wait forever. A body must not wait for
 * what comes after its own kernel: {@code synchronize()} and {@code close()} of its manager or
 * Tidepool, and work on the kernel's own buffers, are an {@link IllegalStateException} there. A
 * future that was derived from such work, as by {@code thenRun}, is not recognised and never
 * completes. A body may close its own buffers; they are freed after the kernel.
 */
@FunctionalInterface
public interface JavaKernel {
  /** Computes one work item. What it throws fails the execution. */
  void run(WorkItem item);
}
