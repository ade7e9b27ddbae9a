/**
 * The interfaces that a backend implements: discovery of accelerators, and for each its memory,
 * queues, events and programs.
 *
 * <p>The interface is narrow on purpose: a backend copies bytes and launches code. Pooling,
 * coherence, ordering, retries and accounting are in the layers above, and the same for all
 * backends. No backend sees a buffer, and no layer above sees a native handle.
 */
@NullMarked
package dev.tidepool.spi;

import org.jspecify.annotations.NullMarked;
