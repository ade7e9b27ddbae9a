package dev.tidepool;

import java.util.concurrent.CompletableFuture;

/** Moves bytes between buffers, wherever they are, by the best way there is. */
public interface TransferEngine {
  /** Copies all of {@code source} to the front of {@code destination}; returns when done. */
  <A> void copy(UnifiedBuffer<A> source, UnifiedBuffer<A> destination);

  /** {@link #copy} in the background; cancelling stops what has not started. */
  <A> CompletableFuture<Void> copyAsync(UnifiedBuffer<A> source, UnifiedBuffer<A> destination);

  /**
   * Measures what the ways to, from and on this manager's accelerator cost, takes the cheapest way
   * from now on, and keeps the figures for the next run. Without this call that happens before the
   * first transfer of 8 MiB or more, unless the figures are kept from an earlier run. Takes some 50
   * milliseconds, and a second where the driver first has to compile a kernel for it; what else
   * moves meanwhile spoils the figures. Blocks.
   *
   * @throws UnsupportedOperationException if the accelerator shares the host's memory: nothing is
   *     transferred there
   * @throws AcceleratorException if its driver refuses
   * @throws OutOfDeviceMemoryException if it has no 8 MiB free
   */
  TransferCalibration calibrate();

  /** What this manager moved so far. */
  TransferStatistics statistics();
}
