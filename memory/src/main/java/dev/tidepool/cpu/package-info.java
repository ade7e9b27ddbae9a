/**
 * The CPU as an accelerator. It is always present and computes in the host's memory, so nothing is
 * copied.
 *
 * <p>Queues run their commands on the calling thread. Kernels run on threads that all queues share.
 */
@NullMarked
package dev.tidepool.cpu;

import org.jspecify.annotations.NullMarked;
