/**
 * Reductions of elements that come in ranges, from several threads: to one value, along an axis, to
 * the elements that a mask selects, and of whole buffers and their rows.
 *
 * <p>The results do not depend on the order of the ranges, nor on how elements are divided into
 * them. Nothing here knows files or pipelines: {@link dev.tidepool.stream.reduction.RangeConsumer}
 * is how both are connected.
 */
@NullMarked
package dev.tidepool.stream.reduction;

import org.jspecify.annotations.NullMarked;
