/**
 * Passes file descriptors between processes of one user on Linux, and reports when the last process
 * has closed one. Device memory is shared on top of this. Nothing here calls CUDA.
 */
@NullMarked
package dev.tidepool.cuda.ipc;

import org.jspecify.annotations.NullMarked;
