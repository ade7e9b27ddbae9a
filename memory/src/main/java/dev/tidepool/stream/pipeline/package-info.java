/**
 * The parts of a pipeline that users do not see: the kernels with the types of their arrays, the
 * threads that carry chunks through them, sources and sinks, and the journal of finished ranges.
 *
 * <p>Accelerators compute, except for reductions over chunks, and for expressions over files on the
 * CPU, which {@code ArrayWorker} computes in arrays. A worker reads a {@link
 * dev.tidepool.stream.pipeline.Source} and writes a {@link dev.tidepool.stream.pipeline.Sink}.
 * Nothing here knows the formats of files, nor the types that users see.
 */
@NullMarked
package dev.tidepool.stream.pipeline;

import org.jspecify.annotations.NullMarked;
