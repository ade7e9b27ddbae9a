/** How native code gets the memory of buffers, in the order of their work, and gives it back. */
@NullMarked
package dev.tidepool.runtime.lending;

import org.jspecify.annotations.NullMarked;
