/**
 * The threads of a session: which thread runs a kernel or a transfer, and which completes a future.
 * Also what a thread does that may run out of stack ({@code StackReserve}) or has run out of heap
 * ({@code Resumable}).
 *
 * <p>Knows no operation and no buffer: what runs is a {@code Runnable}.
 */
@NullMarked
package dev.tidepool.runtime.threads;

import org.jspecify.annotations.NullMarked;
