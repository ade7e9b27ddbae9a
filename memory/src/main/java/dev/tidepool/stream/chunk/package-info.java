/**
 * How the work of a pipeline is divided into chunks, and which worker takes the next one.
 *
 * <p>Arithmetic and one lock: nothing here reads, computes or writes an element.
 */
@NullMarked
package dev.tidepool.stream.chunk;

import org.jspecify.annotations.NullMarked;
