/**
 * Allocation traces: the allocations and frees of a program, read from a file and replayed on a
 * memory manager.
 *
 * <p>This package uses only the public API, and does not depend on command lines.
 */
@NullMarked
package dev.tidepool.cli.trace;

import org.jspecify.annotations.NullMarked;
