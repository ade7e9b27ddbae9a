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
 * it. No other pair fails for that reason, except those behind it on a buffer whose writing failed.
 * The call itself throws only for options out of their range and for missing arguments. {@link
 * TransferReport#orThrow()} makes one exception of all failures.
 *
 * <p><b>Small transfers</b> to one accelerator, or from one, that are ready together travel
 * together.
 *
 * <p><b>Recovery.</b> What fails with a transient error is tried again, after pauses that grow
 * exponentially and vary at random, as often as the options say. No thread waits for that, unless
 * the caller does. Permanent errors, and the loss of the device, are reported at once. A buffer
 * whose transfer failed keeps a valid side; its state says which.
 */
public interface TransferEngine {
  /** Copies all of {@code source} to the front of {@code destination}; returns when done. */
  <A> void copy(UnifiedBuffer<A> source, UnifiedBuffer<A> destination);

  /** {@link #copy} in the background; cancelling stops what has not started. */
  <A> CompletableFuture<Void> copyAsync(UnifiedBuffer<A> source, UnifiedBuffer<A> destination);

  /**
   * Measures the cost of the ways to, from and on this manager's accelerator. From then on the
   * cheapest way is taken. The figures are kept for later runs with the option {@link
   * dev.tidepool.MemoryOptions#calibration()}: there the first transfer of 8 MiB or more takes
   * them, or measures if there are none. Takes about 50 milliseconds, and a second where the driver
   * has to compile a kernel first. Other transfers at the same time distort the figures. Blocks.
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
   * {@link #copyAsync(UnifiedBuffer, UnifiedBuffer)} with options; the two must not overlap. A
   * wrong pair fails the future too. A copy that did not start before its deadline fails with a
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

  /** Returns what this manager moved so far. */
  TransferStatistics statistics();
}
