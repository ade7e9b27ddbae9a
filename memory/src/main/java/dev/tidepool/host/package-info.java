/**
 * The operating system's memory: aligned blocks, huge pages, page locking, and what the machine
 * has; and operations over memory, {@link dev.tidepool.host.MemoryOperations}.
 *
 * <p>Everything native is called through {@code java.lang.foreign}. A function that a system lacks
 * is an absent value, and the plain way is taken: blocks come from an arena then, and nothing is
 * page-locked. May use {@code dev.tidepool} and {@code dev.tidepool.spi}.
 *
 * <p>One idea runs through it: a block's segment lives in an arena of the block's own, which is
 * closed before the memory goes back. A stale segment therefore fails with an exception; it never
 * reads what the system has since given to another owner.
 */
@NullMarked
package dev.tidepool.host;

import org.jspecify.annotations.NullMarked;
