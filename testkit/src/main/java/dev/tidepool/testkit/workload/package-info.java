/**
 * Random operations on buffers, checked against plain arrays; {@link
 * dev.tidepool.testkit.RandomWorkload} is the entry.
 *
 * <p>An operation is a kind, two buffers and a seed of its own: what exactly it does follows from
 * those and from the buffers as they are, so that any subset of a list of operations is a list of
 * operations. That is what makes a failing list shrinkable.
 */
@NullMarked
package dev.tidepool.testkit.workload;

import org.jspecify.annotations.NullMarked;
