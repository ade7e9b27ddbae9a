/**
 * The objects that users hold, and their creation: handles, mappings, structs of arrays, copies.
 *
 * <p>A {@code BufferHandle} is a handle on a range of a storage. {@code BufferAllocator} creates
 * buffers over pooled blocks, {@code ExternalBuffers} over memory that no pool owns.
 */
@NullMarked
package dev.tidepool.runtime.buffer;

import org.jspecify.annotations.NullMarked;
