package dev.tidepool;

import java.util.concurrent.CompletableFuture;

/** Moves bytes between buffers, wherever they are, by the best way there is. */
public interface TransferEngine {
  /** Copies all of {@code source} to the front of {@code destination}; returns when done. */
  <A> void copy(UnifiedBuffer<A> source, UnifiedBuffer<A> destination);

  /** {@link #copy} in the background; cancelling stops what has not started. */
  <A> CompletableFuture<Void> copyAsync(UnifiedBuffer<A> source, UnifiedBuffer<A> destination);

  /** What this manager moved so far. */
  TransferStatistics statistics();
}
