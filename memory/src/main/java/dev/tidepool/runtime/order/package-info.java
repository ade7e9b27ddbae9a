/**
 * The order of the operations on the bytes of a buffer.
 *
 * <p>Operations ({@code Operation}) enter the queues of the resources that they use, and run when
 * all operations ahead have ended. Retries and futures are here too. The package knows no buffer:
 * it orders {@code OrderedResource}s.
 */
@NullMarked
package dev.tidepool.runtime.order;

import org.jspecify.annotations.NullMarked;
