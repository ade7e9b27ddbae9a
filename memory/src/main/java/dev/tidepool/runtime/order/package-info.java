/**
 * The order of the operations on the bytes of a buffer.
 *
 * <p>Operations ({@code Operation}) enter the order of the resources that they use and run when all
 * ahead of them has ended; retries and futures are here too. Knows no buffer: what is ordered is an
 * {@code OrderedResource}.
 */
@NullMarked
package dev.tidepool.runtime.order;

import org.jspecify.annotations.NullMarked;
