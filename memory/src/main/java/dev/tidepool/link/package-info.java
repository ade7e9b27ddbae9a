/**
 * Transfers between the host's memory and an accelerator's.
 *
 * <p>The package owns the queues of transfers, and the staging blocks for bytes that the driver
 * must not access directly: arrays on the heap, mapped files, memory of the caller. It knows blocks
 * and segments, not buffers. The runtime decides the order of transfers.
 */
@NullMarked
package dev.tidepool.link;

import org.jspecify.annotations.NullMarked;
