/**
 * Allocation traces: what a program allocated and freed, in order, read from a file and replayed
 * against a memory manager.
 *
 * <p>It uses the public API only, and knows nothing of command lines.
 */
@NullMarked
package dev.tidepool.cli.trace;

import org.jspecify.annotations.NullMarked;
