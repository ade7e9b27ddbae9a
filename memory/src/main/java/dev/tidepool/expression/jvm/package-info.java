/**
 * Runs a typed program on the processor, as bytecode for blocks of elements.
 *
 * <p>A loop is compiled once for each program and type, and runs over blocks that stay in the
 * cache.
 */
@NullMarked
package dev.tidepool.expression.jvm;

import org.jspecify.annotations.NullMarked;
