/**
 * Compiled programs, and one run of a kernel with its arguments. Programs belong to the manager;
 * kernels hold them.
 */
@NullMarked
package dev.tidepool.runtime.kernel;

import org.jspecify.annotations.NullMarked;
