/**
 * The operating system's memory: aligned blocks, huge pages, page locking, and the features of the
 * machine. Also operations on memory, {@link dev.tidepool.host.MemoryOperations}.
 *
 * <p>All native functions are called through {@code java.lang.foreign}. A function that a system
 * lacks is an absent value, and a simpler way is used: an arena allocates blocks, and nothing is
 * page-locked. May use {@code dev.tidepool} and {@code dev.tidepool.spi}.
 *
 * <p>The segment of a block is in the block's own arena, which is closed before the memory is
 * returned. So access through a stale segment fails with an exception; it never reads memory that
 * the system has given to another owner.
 */
@NullMarked
package dev.tidepool.host;

import org.jspecify.annotations.NullMarked;
