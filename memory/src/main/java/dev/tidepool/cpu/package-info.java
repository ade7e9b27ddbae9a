/**
 * The CPU as an accelerator: always there, computing in the host's memory, so that nothing is
 * copied.
 *
 * <p>Queues run their commands on the calling thread; kernels spread over threads that all queues
 * share.
 */
@NullMarked
package dev.tidepool.cpu;

import org.jspecify.annotations.NullMarked;
