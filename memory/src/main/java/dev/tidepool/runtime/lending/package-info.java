/** Lends the memory of buffers to native code, in the order of the buffers' operations. */
@NullMarked
package dev.tidepool.runtime.lending;

import org.jspecify.annotations.NullMarked;
