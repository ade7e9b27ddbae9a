/**
 * What a program can learn about its memory while it runs and after something went wrong.
 *
 * <p>Snapshots and the page that draws them, reports of leaks and of damaged guard zones, rates,
 * fragmentation, the memory layout of records, and the management bean. Nothing here is needed to
 * use buffers.
 */
@NullMarked
package dev.tidepool.diagnostics;

import org.jspecify.annotations.NullMarked;
