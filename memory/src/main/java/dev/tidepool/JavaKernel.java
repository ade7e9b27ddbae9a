package dev.tidepool;

/**
 * The body of a kernel in Java.
 *
 * <p>It is called once for each work item, by several threads at once. The items of one group run
 * one after another on one thread; there is no barrier within a group. The body must not keep the
 * item.
 *
 * <p>A body may use Tidepool. It may wait for operations on buffers that its own kernel does not
 * use, by {@code execute}, {@code join} and similar methods. Kernels whose bodies wait for kernels
 * may nest 256 deep. Tidepool has few threads for bodies that wait by other means, such as a latch:
 * if all of these threads wait for a kernel that needs one of them, they wait forever. A body must
 * not wait for operations after its own kernel: {@code synchronize()} and {@code close()} of its
 * manager or Tidepool, and operations on the kernel's own buffers, throw {@link
 * IllegalStateException} there. A future derived from such an operation, as by {@code thenRun}, is
 * not recognised and never completes. A body may close its own buffers; they are freed after the
 * kernel.
 */
@FunctionalInterface
public interface JavaKernel {
  /** Computes one work item. An exception fails the execution. */
  void run(WorkItem item);
}
