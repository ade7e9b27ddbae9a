/**
 * Information about a program's memory while it runs, and after a failure.
 *
 * <p>Snapshots and the page that displays them, reports of leaks and of damaged guard zones, rates,
 * fragmentation, the memory layout of records, and the management bean. Nothing here is needed to
 * use buffers.
 */
@NullMarked
package dev.tidepool.diagnostics;

import org.jspecify.annotations.NullMarked;
