/**
 * The elementary functions of an element, with the same results on every machine.
 *
 * <p>Error bounds and sources are given at each function.
 */
@NullMarked
package dev.tidepool.expression.math;

import org.jspecify.annotations.NullMarked;
