/**
 * Random operations on buffers, checked against plain arrays. {@link
 * dev.tidepool.testkit.RandomWorkload} is the entry point.
 *
 * <p>An operation has a kind, two buffers and its own seed. These and the state of the buffers
 * determine what it does. So any subset of a list of operations is a valid list, which makes a
 * failing list shrinkable.
 */
@NullMarked
package dev.tidepool.testkit.workload;

import org.jspecify.annotations.NullMarked;
