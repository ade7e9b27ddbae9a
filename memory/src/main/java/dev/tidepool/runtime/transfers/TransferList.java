package dev.tidepool.runtime.transfers;

import dev.tidepool.TransferException;
import dev.tidepool.link.TransferContext;
import dev.tidepool.runtime.order.Operation;
import dev.tidepool.runtime.order.RetryPolicy;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.threads.FutureEnd;
import dev.tidepool.runtime.threads.TransferExecutor;
import dev.tidepool.spi.support.FailureText;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferOutcome;
import dev.tidepool.transfer.TransferOutcome.Status;
import dev.tidepool.transfer.TransferProgress;
import dev.tidepool.transfer.TransferReport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.LongConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A list of transfers, from the call to its report. Each pair is settled once, by its end, a
 * cancellation, or the deadline, whichever comes first. The last pair that is settled completes the
 * report.
 */
final class TransferList {
  private final StorageContext context;
  private final TransferOptions options;
  private final long start = System.nanoTime();
  private final Report report = new Report();
  private final AtomicReferenceArray<@Nullable TransferOutcome> outcomes;
  private final AtomicInteger unsettled;
  private final BoundedExecutor bounded;
  private final Completion completion;
  private final List<Pair> pairs;
  private final ProgressNotifier progress;

  /** Checks all pairs. Settles the pairs that cannot be started as failed. */
  private TransferList(
      StorageContext context,
      List<? extends @Nullable Transfer<?>> transfers,
      TransferOptions options) {
    this.context = context;
    this.completion = new Completion();
    this.options = options;
    outcomes = new AtomicReferenceArray<>(transfers.size());
    // One more, for the submission itself.
    unsettled = new AtomicInteger(transfers.size() + 1);
    TransferExecutor threads = context.transferThreads();
    int most = options.maxConcurrency() == 0 ? threads.most() : options.maxConcurrency();
    bounded =
        new BoundedExecutor(
            threads.at(options.priority()),
            Math.min(most, threads.most()),
            !options.progress().equals(TransferProgress.NONE));
    RetryPolicy retries = context.retries();
    RetryPolicy wanted = options.retries() == -1 ? retries : retries.withMost(options.retries());
    pairs = new ArrayList<>(transfers.size());
    for (int i = 0; i < transfers.size(); i++) {
      try {
        Transfer<?> transfer = Objects.requireNonNull(transfers.get(i), "there is none");
        pairs.add(new Pair(i, TransferTask.of(context, transfer, options), wanted));
      } catch (RuntimeException e) {
        settle(i, failed(i, e, Duration.ZERO, 0));
      }
    }
    long total = pairs.stream().mapToLong(pair -> pair.bytes).sum();
    progress = new ProgressNotifier(context.session(), options.progress(), total, this::complete);
  }

  /** Submits a list of transfers. */
  static TransferList start(
      StorageContext context,
      List<? extends @Nullable Transfer<?>> transfers,
      TransferOptions options) {
    TransferList transferList = new TransferList(context, transfers, options);
    transferList.begin();
    return transferList;
  }

  /** Submits the pairs. A submitted pair starts even after a failure: others may be behind it. */
  private void begin() {
    try {
      pairs.forEach(Pair::ask);
      options.deadline().ifPresent(this::stopAfter);
    } finally {
      bounded.start();
    }
    settled();
  }

  private void stopAfter(Duration deadline) {
    long left = deadline.toNanos() - (System.nanoTime() - start);
    if (left <= 0) {
      stop(Status.LATE);
      return;
    }
    CompletableFuture<Void> timer = new CompletableFuture<>();
    var _ = timer.completeOnTimeout(null, left, TimeUnit.NANOSECONDS);
    var _ = timer.thenRun(() -> stop(Status.LATE));
    // Otherwise the timer would keep this list reachable until the deadline.
    var _ = report.whenComplete((_, _) -> timer.cancel(false));
  }

  CompletableFuture<TransferReport> report() {
    return report;
  }

  /** Stops the pairs that have not started. Returns whether any was stopped. */
  boolean stop(Status status) {
    boolean stopped = false;
    // Last first: a pair must not start behind a stopped one, on bytes that were not copied.
    for (Pair pair : pairs.reversed()) {
      if (outcomes.get(pair.index) == null && pair.operation.cancel()) {
        stopped |=
            settle(pair.index, new TransferOutcome(status, 0, Duration.ZERO, 0, Optional.empty()));
      }
    }
    return stopped;
  }

  /** The future of the report. Cancelling it stops pairs not yet started; it still completes. */
  private final class Report extends CompletableFuture<TransferReport> {
    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
      stop(Status.CANCELLED);
      return false;
    }
  }

  /** A pair that can be started. */
  private final class Pair {
    private final int index;
    private final long bytes;
    private final Operation operation;
    // The most bytes that were reported to the listener, over all attempts.
    private final AtomicLong told = new AtomicLong();

    Pair(int index, TransferTask transferTask, RetryPolicy retries) {
      this.index = index;
      bytes = transferTask.bytes();
      operation = transferTask.operation(options, this::transferContext, retries, bounded);
    }

    /** Returns the options of one attempt. */
    private TransferContext transferContext() {
      return new TransferContext(
          options.priority(),
          options.chunkSize(),
          options.pinned(),
          options.pipelining(),
          options.progress().equals(TransferProgress.NONE)
              ? TransferContext.ORDINARY.submitted()
              : submitted());
    }

    /** Adds up the chunks of one attempt. Each attempt begins again at 0. */
    private LongConsumer submitted() {
      AtomicLong submitted = new AtomicLong();
      return chunk -> tell(Math.min(submitted.addAndGet(chunk), bytes));
    }

    private void tell(long until) {
      long before = told.getAndAccumulate(until, Math::max);
      progress.add(until - before);
    }

    void ask() {
      try {
        operation.submit(this::ended);
      } catch (RuntimeException | Error e) {
        // An Error may concern this buffer alone, such as the error of a prefetch.
        progress.leaveOut(bytes);
        settle(index, failed(index, e, Duration.ZERO, 0));
      }
    }

    private void ended(@Nullable Throwable failure) {
      if (failure != null) {
        Duration duration = Duration.ofNanos(operation.elapsedNanos());
        settle(index, failed(index, failure, duration, operation.attempts()));
      } else if (operation.hasStarted()) {
        tell(bytes);
        settle(
            index,
            new TransferOutcome(
                Status.DONE,
                bytes,
                Duration.ofNanos(operation.elapsedNanos()),
                operation.attempts(),
                Optional.empty()));
      }
      // Otherwise the pair was stopped. The stopping thread settles it.
    }
  }

  private TransferOutcome failed(int index, Throwable failure, Duration duration, int attempts) {
    TransferException named =
        new TransferException(
            "transfer %s of %s: %s"
                .formatted(index + 1, outcomes.length(), FailureText.of(failure)),
            failure);
    return new TransferOutcome(Status.FAILED, 0, duration, attempts, Optional.of(named));
  }

  private boolean settle(int index, TransferOutcome outcome) {
    boolean first = outcomes.compareAndSet(index, null, outcome);
    if (first) {
      settled();
    }
    return first;
  }

  private void settled() {
    if (unsettled.decrementAndGet() == 0) {
      progress.finish();
    }
  }

  private void complete() {
    completion.elapsedNanos = System.nanoTime() - start;
    completion.completeElsewhere();
  }

  /** Completes the report. */
  private final class Completion extends FutureEnd {
    private volatile long elapsedNanos;

    Completion() {
      super(context.callbackExecutor());
    }

    @Override
    protected void complete() {
      List<TransferOutcome> all =
          IntStream.range(0, outcomes.length())
              .mapToObj(i -> Objects.requireNonNull(outcomes.get(i), "settled"))
              .toList();
      long bytes = all.stream().mapToLong(TransferOutcome::bytes).sum();
      report.complete(new TransferReport(bytes, Duration.ofNanos(elapsedNanos), all));
    }
  }
}
