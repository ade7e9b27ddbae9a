/**
 * How bytes move between the host's memory and an accelerator's.
 *
 * <p>It owns the queues that transfers run on and the staging blocks that bytes pass through when
 * the driver must not touch them where they lie: arrays on the heap, mapped files, memory of the
 * caller. It knows blocks and segments, not buffers; what moves when is the runtime's business.
 */
@NullMarked
package dev.tidepool.link;

import org.jspecify.annotations.NullMarked;
