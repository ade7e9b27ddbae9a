package dev.tidepool.transfer;

import dev.tidepool.AcceleratorException;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Copies between buffers, arrays and segments, wherever they are, by the fastest path there is.
 *
 * {@snippet :
 * float[] in = new float[1 << 20];
 * float[] out = new float[1 << 20];
 * try (UnifiedBuffer<float[]> x = memory.allocate(ElementType.FLOAT, in.length);
 *     UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, in.length)) {
 *   TransferReport report =
 *       memory
 *           .transfers()
 *           .transfer(
 *               List.of(Transfer.of(in, x), Transfer.of(x, y), Transfer.of(y, out)),
 *               TransferOptions.builder().priority(TransferPriority.HIGH).build());
 *   System.out.println(report.orThrow().averageBandwidth() / 1e9 + " GB/s");
 * }
 * }
 *
 * <p><b>Lists.</b> The pairs of a list run side by side, as far as the options and the manager
 * allow; where pairs share a buffer they keep the order of the list. A pair that cannot be started
 * (a buffer is closed, the destination is too short, both overlap in one buffer, the types
 * disagree) fails like one that could not be finished: its outcome carries an exception that names
 * it, and no other is harmed, except those behind it on a buffer whose writing failed. Only options
 * out of their range, and missing arguments, are exceptions of the call itself. {@link
 * TransferReport#orThrow()} makes one exception of all failures.
 *
 * <p><b>Small transfers</b> to one accelerator, or from one, that are ready together travel
 * together.
 *
 * <p><b>Recovery.</b> What fails with a transient error is tried again, after pauses that grow
 * exponentially and vary at random, as often as the options say. No thread waits for that, unless
 * the caller does. Permanent errors, and the loss of the device, are reported at once. A buffer
 * whose transfer failed keeps a valid side, which its state names.
 */
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

  /** {@link #calibrate()} in the background. */
  CompletableFuture<TransferCalibration> calibrateAsync();

  /**
   * {@link #copyAsync(UnifiedBuffer, UnifiedBuffer)} with options; the two must not overlap. What
   * is wrong with the pair fails the future too; a copy that came to its deadline fails with a
   * {@link TransferException}.
   */
  <A> CompletableFuture<Void> copyAsync(
      UnifiedBuffer<A> source, UnifiedBuffer<A> destination, TransferOptions options);

  /** Performs a list of transfers; returns when the last has ended, well or not. */
  TransferReport transfer(List<? extends Transfer<?>> transfers, TransferOptions options);

  /**
   * {@link #transfer} in the background. The future always completes with a report. Cancelling it
   * stops what has not started; the report comes when what has started is done, so {@code cancel}
   * answers false.
   */
  CompletableFuture<TransferReport> transferAsync(
      List<? extends Transfer<?>> transfers, TransferOptions options);

  /** What this manager moved so far. */
  TransferStatistics statistics();
}
