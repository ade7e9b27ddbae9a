/**
 * What a backend implements: how accelerators are found, and for each its memory, queues, events
 * and programs.
 *
 * <p>The seam is narrow on purpose: a backend moves bytes and launches code; pooling, coherence,
 * ordering, retries and accounting are above it and the same for all. Nothing below this seam sees
 * a buffer, nothing above it sees a native handle.
 */
@NullMarked
package dev.tidepool.spi;

import org.jspecify.annotations.NullMarked;
