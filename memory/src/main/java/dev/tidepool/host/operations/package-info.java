/**
 * The implementation of {@link dev.tidepool.host.MemoryOperations}: fills, comparisons,
 * conversions, reductions, and moves of elements and of the fields of structs.
 */
@NullMarked
package dev.tidepool.host.operations;

import org.jspecify.annotations.NullMarked;
