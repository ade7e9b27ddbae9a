package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.HandoffExecutor;
import dev.tidepool.runtime.threads.KernelThreads;
import dev.tidepool.runtime.threads.SessionExecutors;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.support.Uninterruptibly;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One operation on the storages that it uses, as the submitting code sees it: it is created,
 * submitted, perhaps waited for, and ends. {@link OrderedOperation} has its place in the order,
 * {@link RunningOperation} runs it.
 *
 * <p>An operation with a {@link Coalescable} payload may be done together with others: a batch
 * claims it and ends it.
 */
public final class Operation extends RunningOperation {
  // The bytes that may be transferred with those of others; null if it runs alone.
  private @Nullable Coalescable payload;

  private Operation(List<ResourceAccess> uses, Runnable body, Executor executor, boolean always) {
    super(ResourceAccesses.of(uses), body, executor, always);
  }

  public static Operation of(List<ResourceAccess> uses, Executor executor, Runnable body) {
    return new Operation(uses, body, executor, false);
  }

  /**
   * Creates an operation that runs even if an operation ahead failed, and that a closed storage
   * admits.
   */
  public static Operation always(OrderedResource storage, Executor executor, Runnable body) {
    return new Operation(List.of(ResourceAccess.write(storage)), body, executor, true);
  }

  /** Like {@link #always}, but the operation reads the storage. */
  public static Operation alwaysReading(OrderedResource storage, Executor executor, Runnable body) {
    return new Operation(List.of(ResourceAccess.read(storage)), body, executor, true);
  }

  /**
   * Creates an operation that moves bytes of storages to free memory. It does not count as a use of
   * them, and nothing may run beside it.
   */
  public static Operation moving(List<? extends OrderedResource> storages, Runnable body) {
    return new Operation(
        storages.stream().map(ResourceAccess::eviction).toList(),
        body,
        SessionExecutors.evictions(),
        true);
  }

  /** Sets bytes that may be transferred together with others. Call it before the submission. */
  public Operation carrying(@Nullable Coalescable bytes) {
    payload = bytes;
    return this;
  }

  /** Allows the body to run again. Call it before the submission. */
  public Operation retrying(RetryPolicy policy) {
    retries = policy;
    return this;
  }

  /**
   * Sets a listener that receives the final failure of the body, before the operation leaves its
   * queues. Call it before the submission.
   */
  public Operation failing(Consumer<Throwable> listener) {
    failing = listener;
    return this;
  }

  /**
   * Declares that the body submits a launch, which its device may order. Call it before the
   * submission. The body runs when all operations ahead have ended or are submitted launches. The
   * operation ends when the command and all operations ahead have ended. Only for operations that
   * are {@link #submit}ted, and for lendings, which are {@link #perform}ed.
   */
  public Operation launching(DeviceLaunch command) {
    launchBy(command);
    return this;
  }

  /**
   * Submits the operation and waits for its end. Runs it on the calling thread, once its turn
   * comes, if {@code here} is true. Not interruptible: an interrupt stays set. For a lending, waits
   * until it is {@linkplain #isLent under way}; {@link #lentUntil} follows.
   *
   * @throws RuntimeException the failure of the operation
   */
  public void perform(boolean here) {
    awaited = here;
    finishHereOrJoin(false);
    rethrow();
  }

  /**
   * Performs an operation that always runs.
   *
   * @return the operation's own failure, whatever failed ahead; null if it did not fail
   */
  public @Nullable Throwable performAlways(boolean here) {
    awaited = here;
    finishHereOrJoin(false);
    return ownFailure();
  }

  /**
   * Performs the operation only if all its storages are open and idle.
   *
   * @return whether it was performed
   * @throws RuntimeException the failure of the operation
   */
  public boolean performIfIdle(boolean here) {
    awaited = here;
    if (!finishHereOrJoin(true)) {
      return false;
    }
    rethrow();
    return true;
  }

  /**
   * Submits an operation on one storage, which a thread of the executor runs at its turn; returns
   * false if the storage is closed.
   */
  public boolean requestIfOpen() {
    OrderedResource storage = uses[0].storage();
    synchronized (storage) {
      if (!storage.isOpen()) {
        return false;
      }
      enter();
    }
    if (mayStart()) {
      ready();
    }
    return true;
  }

  /** Submits the operation. The thread that ends it calls {@code listener}. */
  public void submit(Consumer<@Nullable Throwable> listener) {
    try {
      reserve(listener);
    } finally {
      begin();
    }
  }

  /** Like {@link #submit}, but the operation does not start before {@link #begin}. */
  void reserve(Consumer<@Nullable Throwable> listener) {
    this.listener = listener;
    enter();
  }

  /** Lets a {@link #reserve}d operation start; does nothing if it has not entered its queues. */
  public void begin() {
    if (!hasEntered() || !mayStart()) {
      return;
    }
    if (launch == null || !occupies()) {
      ready();
    } else if (launch.tryPlace() && launch.mayRunHere()) {
      run();
    } else {
      stopOccupying();
      ready();
    }
  }

  /**
   * Submits the operation without waiting. Runs it here if nothing is ahead and {@code here} is
   * true.
   */
  public void release(boolean here) {
    enter();
    if (mayStart()) {
      if (here) {
        run();
      } else {
        handIn();
      }
    }
  }

  private void enter() {
    enter(awaited || always);
  }

  /**
   * Submits the operation and waits for its end. All code that may throw is inside the try block
   * whose handler removes the operation.
   *
   * @param onlyIfIdle whether it enters only if all its storages are open and idle
   * @return whether it entered
   */
  private boolean finishHereOrJoin(boolean onlyIfIdle) {
    try {
      if (!onlyIfIdle) {
        enter();
      } else if (!enterIfIdle(awaited || always)) {
        return false;
      }
      boolean isReady = mayStart();
      if (!isReady) {
        checkMayAwait();
      }
      if (awaited) {
        if (!isReady) {
          awaitTurn();
        }
        run();
      } else if (isReady) {
        ready();
      }
      if (launch != null) {
        // An operation that failed before it was lent ends after the launches ahead of it.
        KernelThreads.whileReplaced(() -> Uninterruptibly.await(this, this::isLentOrDone));
      } else if (!awaited) {
        await();
      }
      return true;
    } catch (Throwable e) {
      if (hasEntered()) {
        abandon(e);
      }
      throw e;
    }
  }

  /** Checks that the calling thread may wait for its turn; if not, cancels the operation. */
  private void checkMayAwait() {
    try {
      KernelBody.checkMayAwait(this);
    } catch (IllegalStateException mayNotWait) {
      // The turn comes after the end of the calling body. No thread waits for it then.
      awaited = false;
      if (!always) {
        cancel();
      }
      throw mayNotWait;
    }
  }

  /** Waits for the turn of an operation that the calling thread runs. */
  private void awaitTurn() {
    KernelThreads.whileReplaced(() -> Uninterruptibly.await(this, this::isTurn));
  }

  /** Throws the failure of the operation, if any. */
  private void rethrow() {
    Throwable thrown = failure();
    if (thrown != null) {
      throw Exceptions.unchecked(thrown);
    }
  }

  @Override
  public void await() {
    if (!isDone()) {
      KernelBody.checkMayAwait(this);
      KernelThreads.whileReplaced(() -> Uninterruptibly.await(this, this::isDone));
    }
  }

  @Override
  public boolean await(long nanos) {
    return Uninterruptibly.await(this, nanos, this::isDone);
  }

  /** Returns whether its listener is the user's, or calls one. */
  public boolean tells() {
    return executor instanceof HandoffExecutor handoff && handoff.tells();
  }

  @Override
  public boolean isLent() {
    DeviceLaunch lent = launch;
    return lent != null && lent.isLending() && isSubmitted();
  }

  /**
   * Notes that code outside of Tidepool has submitted its commands. Called once, when the operation
   * is lent.
   *
   * @param end of the commands; null if they have ended
   * @param failure a failure that is known already
   */
  public void lentUntil(@Nullable Event end, @Nullable Throwable failure) {
    if (end == null) {
      if (commandEnded(failure)) {
        tellOfEnd();
      }
      return;
    }
    DeviceLaunch lent = Objects.requireNonNull(launch, "it is a lending");
    lent.submitted(end);
    if (!Thread.currentThread().isVirtual() && lent.hasEnded()) {
      // No other thread need be woken for it. A virtual thread may not call a driver's wait.
      if (deviceEnded(lent.awaitEnd())) {
        tellOfEnd();
      }
      return;
    }
    try {
      tellOfSubmission();
    } finally {
      lent.follow();
    }
  }

  /** Returns the bytes that may be transferred with those of others; null if it runs alone. */
  public @Nullable Coalescable payload() {
    return payload;
  }

  /**
   * Claims the next operation in this one's queue, if it waits for nothing else and a batch has a
   * place for it. Its turn comes when this one has ended; then the caller ends it.
   */
  public @Nullable Operation claimNext(Predicate<Coalescable> fits) {
    return onlySuccessor() instanceof Operation next && next.claimAhead(executor, fits)
        ? next
        : null;
  }

  private boolean claimAhead(Executor of, Predicate<Coalescable> fits) {
    // Otherwise it has not entered all queues, or another operation is ahead too.
    return isOneAhead()
        && !awaited
        && executor.equals(of)
        && payload != null
        && fits.test(payload)
        && claimAhead();
  }

  @Override
  public void giveBack(boolean travelled) {
    payload = null;
    super.giveBack(travelled);
  }
}
