package dev.tidepool.transfer;

import dev.tidepool.AcceleratorException;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Copies between buffers, arrays and segments, wherever they are, by the fastest way available.
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
 * <p><b>Lists.</b> The pairs of a list run concurrently, as far as the options and the manager
 * allow; pairs that share a buffer keep the order of the list. A pair that cannot be started (a
 * buffer is closed, the destination is too short, both overlap in one buffer, the types differ)
 * fails like one that could not be finished: its outcome has an exception that names it. Other
 * pairs do not fail for that reason, except later ones on a buffer whose write failed. The call
 * itself throws only a {@link NullPointerException} for a missing argument, and an {@link
 * IllegalStateException} if the manager is closed. {@link TransferReport#orThrow()} combines all
 * failures into one exception.
 *
 * <p><b>Small transfers</b> to one accelerator, or from one, that are ready at the same time are
 * combined.
 *
 * <p><b>Recovery.</b> A transfer that fails with a transient error is retried as often as the
 * options say, after random pauses that grow exponentially. No thread waits for a retry, except a
 * caller of a blocking method. Permanent errors, and the loss of the device, are reported at once.
 * A buffer whose transfer failed keeps a valid copy; its state says which.
 */
public interface TransferEngine {
  /**
   * Copies all of {@code source} to the front of {@code destination}, and waits for the end of the
   * copy.
   */
  <A> void copy(UnifiedBuffer<A> source, UnifiedBuffer<A> destination);

  /** Like {@link #copy}, in the background. Cancelling stops a copy that has not started. */
  <A> CompletableFuture<Void> copyAsync(UnifiedBuffer<A> source, UnifiedBuffer<A> destination);

  /**
   * Measures the cost of the ways to, from and on this manager's accelerator, and waits for the
   * figures. Later transfers use the cheapest way. A measurement takes about 50 milliseconds, or a
   * second if the driver has to compile a kernel first. Run no other transfers meanwhile, because
   * they distort the figures.
   *
   * <p>The figures are also written to the {@linkplain dev.tidepool.MemoryOptions#cacheDirectory()
   * cache}. With the option {@link dev.tidepool.MemoryOptions#calibration()}, the first transfer of
   * 8 MiB or more of a later run reads them. If the cache has none, that transfer measures first.
   *
   * @throws UnsupportedOperationException if the accelerator shares the host's memory, which needs
   *     no transfers
   * @throws AcceleratorException if the driver reports an error
   * @throws OutOfDeviceMemoryException if the accelerator has less than 8 MiB free
   */
  TransferCalibration calibrate();

  /** Like {@link #calibrate()}, in the background. */
  CompletableFuture<TransferCalibration> calibrateAsync();

  /**
   * Like {@link #copyAsync(UnifiedBuffer, UnifiedBuffer)}, with options. The two buffers must not
   * overlap. An invalid pair also fails the future. A copy that did not start before its deadline
   * fails with a {@link TransferException}.
   */
  <A> CompletableFuture<Void> copyAsync(
      UnifiedBuffer<A> source, UnifiedBuffer<A> destination, TransferOptions options);

  /** Performs a list of transfers, and waits until all have ended, successfully or not. */
  TransferReport transfer(List<? extends Transfer<?>> transfers, TransferOptions options);

  /**
   * Like {@link #transfer}, in the background. The future always completes with a report.
   * Cancelling it stops the transfers that have not started. The report follows when the others
   * have ended, so {@code cancel} returns false.
   */
  CompletableFuture<TransferReport> transferAsync(
      List<? extends Transfer<?>> transfers, TransferOptions options);

  /** Returns figures about this manager's transfers so far. */
  TransferStatistics statistics();
}
