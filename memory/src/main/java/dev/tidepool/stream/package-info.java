/**
 * Out-of-core work: {@code .npy} files as segments, and pipelines that stream them through an
 * accelerator in chunks.
 *
 * <p>This package owns the public types, the {@code .npy} format, the partial files beside their
 * targets, and the order of a run: open, begin, stream, commit. {@code stream.pipeline} has the
 * workers. It may use every package below it. No package uses it; {@code runtime.kernel} finds
 * {@code StreamedKernels} as a service. Files are read and written at positions through reused
 * blocks, never mapped: on a page cache that is faster than page faults, it bounds the memory that
 * stays resident, and a file that shrinks causes an exception of this library, not a fault of the
 * virtual machine.
 */
@NullMarked
package dev.tidepool.stream;

import org.jspecify.annotations.NullMarked;
