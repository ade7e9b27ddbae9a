package dev.tidepool.runtime.transfers;

import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.OnDemandLink;
import dev.tidepool.runtime.threads.BackgroundWork;
import dev.tidepool.runtime.threads.FutureEnd;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferCalibration;
import dev.tidepool.transfer.TransferEngine;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferOutcome;
import dev.tidepool.transfer.TransferOutcome.Status;
import dev.tidepool.transfer.TransferReport;
import dev.tidepool.transfer.TransferStatistics;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** The transfers of one manager. */
public record DefaultTransferEngine(
    StorageContext context, DeviceCalibration calibrations, OnDemandLink link)
    implements TransferEngine {
  @Override
  public <A> void copy(UnifiedBuffer<A> source, UnifiedBuffer<A> destination) {
    context.checkOpen();
    Objects.requireNonNull(destination, "destination").copyFrom(source);
  }

  @Override
  public <A> CompletableFuture<Void> copyAsync(
      UnifiedBuffer<A> source, UnifiedBuffer<A> destination) {
    context.checkOpen();
    return Objects.requireNonNull(destination, "destination").copyFromAsync(source);
  }

  @Override
  public TransferCalibration calibrate() {
    return context.state().during(calibrations::measure);
  }

  @Override
  public CompletableFuture<TransferCalibration> calibrateAsync() {
    context.checkOpen();
    return BackgroundWork.start(this::calibrate);
  }

  @Override
  public <A> CompletableFuture<Void> copyAsync(
      UnifiedBuffer<A> source, UnifiedBuffer<A> destination, TransferOptions options) {
    TransferList transferList = start(List.of(Transfer.of(source, destination)), options);
    CopyFuture future = new CopyFuture(transferList, context.callbackExecutor());
    var _ = transferList.report().thenRun(future.ending);
    return future;
  }

  @Override
  public TransferReport transfer(List<? extends Transfer<?>> transfers, TransferOptions options) {
    return start(transfers, options).report().join();
  }

  @Override
  public CompletableFuture<TransferReport> transferAsync(
      List<? extends Transfer<?>> transfers, TransferOptions options) {
    return start(transfers, options).report();
  }

  private TransferList start(List<? extends Transfer<?>> transfers, TransferOptions options) {
    context.checkOpen();
    Objects.requireNonNull(options, "options");
    // A copy, because the caller may change the list. May have null elements, which fail alone.
    List<? extends Transfer<?>> list =
        new ArrayList<>(Objects.requireNonNull(transfers, "transfers"));
    TransferList transferList = TransferList.start(context, list, options);
    var _ = context.track(transferList.report());
    return transferList;
  }

  /** A single copy. Cancelling it stops the copy if it has not started. */
  private static final class CopyFuture extends CompletableFuture<Void> {
    private final TransferList transferList;
    private final FutureEnd ending;

    CopyFuture(TransferList transferList, Executor threads) {
      this.transferList = transferList;
      this.ending =
          new FutureEnd(threads) {
            @Override
            protected void complete() {
              endAs(transferList.report().resultNow());
            }
          };
    }

    private void endAs(TransferReport report) {
      TransferOutcome outcome = report.outcomes().getFirst();
      switch (outcome.status()) {
        case DONE -> complete(null);
        case FAILED -> completeExceptionally(cause(outcome));
        case CANCELLED -> completeExceptionally(stopped());
        case LATE ->
            completeExceptionally(
                new TransferException("the deadline came before the copy had started", null));
      }
    }

    /** Returns the cause without the prefix "transfer 1 of 1". */
    private static Throwable cause(TransferOutcome outcome) {
      Throwable named = outcome.cause().orElseThrow();
      return named.getCause() == null ? named : named.getCause();
    }

    private static CancellationException stopped() {
      return new CancellationException("cancelled before it started");
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
      if (transferList.stop(Status.CANCELLED)) {
        completeExceptionally(stopped());
      }
      return isCancelled();
    }
  }

  @Override
  public TransferStatistics statistics() {
    return context.meter().statistics(link.calibration());
  }

  @Override
  public String toString() {
    return "TransferEngine[" + context.accelerator().id() + "]";
  }
}
