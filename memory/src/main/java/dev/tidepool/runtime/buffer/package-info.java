/**
 * What users hold and how it is made: handles, mappings, structs of arrays, copies.
 *
 * <p>A {@code TypedBuffer} is a handle on a range of a storage. {@code Allocations} makes buffers
 * over pooled blocks, {@code ForeignBuffers} over memory that no pool owns.
 */
@NullMarked
package dev.tidepool.runtime.buffer;

import org.jspecify.annotations.NullMarked;
