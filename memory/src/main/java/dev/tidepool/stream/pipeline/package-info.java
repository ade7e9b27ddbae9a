/**
 * What a run of a pipeline consists of: the kernels with the types of their arrays, and the journal
 * of the ranges that are on disk.
 *
 * <p>Users see nothing of this package.
 */
@NullMarked
package dev.tidepool.stream.pipeline;

import org.jspecify.annotations.NullMarked;
