package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.HandoffExecutor;
import dev.tidepool.runtime.threads.Resumable;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.Uninterruptibly;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How an {@link Operation} runs when its turn has come, perhaps several times, and how it ends.
 *
 * <p><b>Recovery.</b> A body that failed may run again, at the same place in the order, if its
 * {@link RetryPolicy} allows it.
 *
 * <p><b>Errors.</b> Any step may throw: the heap is full, no thread can be started, the stack
 * overflows. Once the operation has entered its queues, no error keeps it there. Ending allocates
 * no memory and continues where it was interrupted. If a step still fails, the maintenance thread
 * {@linkplain Resumable repeats} it.
 *
 * <p><b>Threads.</b> One thread at a time runs the body, and the body may block it. That is a
 * thread of the executor, or the calling thread that waits for the turn, if it may block.
 */
abstract class RunningOperation extends OrderedOperation implements HandoffExecutor.Task {

  private enum Stage {
    WAITING,
    CANCELLED,
    STARTED,
    SUBMITTED,
    DONE
  }

  // Null after the end, so that the buffers that it used can become unreachable.
  private @Nullable Runnable body;
  final Executor executor;
  // The thread that looks for its next task right after this operation, and may take a successor;
  // null if there is none. Another thread may end the operation instead.
  private @Nullable Thread taskThread;

  // Set before the operation enters its queues: whether the calling thread waits to run it, when it
  // runs again, and the listeners of its own failure and of its end.
  boolean awaited;
  RetryPolicy retries = RetryPolicy.NONE;
  @Nullable Consumer<Throwable> failing;
  @Nullable Consumer<@Nullable Throwable> listener;

  // Guarded by this.
  private boolean turn;
  private Stage stage = Stage.WAITING;
  // An error outside of the body, before the end began. The body does not run any more.
  private @Nullable Throwable lost;
  // Whether a thread has taken the operation to run it. Other threads that call run() return.
  private boolean taken;
  // Whether the thread that was ending the operation stopped before it had finished.
  private boolean endInterrupted;
  private boolean claimed;
  // Whether a batch has begun to transfer the bytes. The operation can no longer be cancelled.
  private boolean touched;
  private long startNanos;

  // The thread that runs the body, or is about to.
  private volatile @Nullable Thread runner;

  // Used only by the runner; `attempts` also by listeners, after the end.
  private int attempts;
  private boolean isLastAttempt;
  private long firstFailureNanos;

  // Written by the thread that runs or ends the operation. `over`: the listener was called.
  private boolean ending;
  private @Nullable Throwable own;
  private boolean over;

  RunningOperation(ResourceAccess[] uses, Runnable body, Executor executor, boolean always) {
    super(uses, always);
    this.body = body;
    this.executor = executor;
  }

  /** Returns whether nothing is ahead of the operation and it has not ended. */
  public boolean isItsTurn() {
    if (!isNothingAhead()) {
      return false;
    }
    synchronized (this) {
      return stage != Stage.DONE;
    }
  }

  /** Wakes the waiting caller or hands the operation to the executor. Nothing is ahead any more. */
  void ready() {
    if (isHandedIn()) {
      handIn();
    }
  }

  /**
   * Notes that the turn has come, and wakes a waiting caller. Returns whether a thread of the
   * executor must run the operation.
   */
  private synchronized boolean isHandedIn() {
    turn = true;
    if (awaited) {
      notifyAll();
    }
    return !awaited && !claimed;
  }

  @Override
  void ready(@Nullable Executor ending) {
    if (ending == null
        || !executor.equals(ending)
        || !(executor instanceof HandoffExecutor handoff)) {
      ready();
    } else if (isHandedIn()) {
      try {
        handoff.executeNext(this);
      } catch (Throwable e) {
        leaveUnfinished();
      }
    }
  }

  /** Hands the operation to its executor, at once or a little later. The turn has come. */
  @Override
  public void handIn() {
    try {
      executor.execute(this);
    } catch (Throwable e) {
      leaveToBeHandedIn();
    }
  }

  /** Leaves the hand-over to the executor to the maintenance thread. The turn has come. */
  @Override
  public void leaveToBeHandedIn() {
    synchronized (this) {
      turn = true;
    }
    leaveUnfinished();
  }

  /**
   * Abandons the operation, because the thread that waited for the turn cannot continue. The body
   * does not run, unless another thread has started it or the operation always runs.
   *
   * @param thrown the error that stopped the thread; the operation fails with it
   */
  void abandon(Throwable thrown) {
    boolean runs;
    synchronized (this) {
      if (stage == Stage.WAITING && !always) {
        stage = Stage.CANCELLED;
        lost = lost == null ? thrown : lost;
      }
      awaited = false;
      runs = turn && !taken && (lost != null || always);
    }
    if (runs) {
      run();
    }
  }

  /** Handles an error that stopped the calling thread while it ran or ended the operation. */
  public void lose(Throwable thrown) {
    synchronized (this) {
      if (over || (taken && !Thread.currentThread().equals(runner))) {
        return;
      }
      if (stage == Stage.SUBMITTED && !ending) {
        // The queue waits for the command.
        return;
      }
      // Do not handle the same error twice.
      runner = null;
      turn |= isNothingAhead();
      claimed = false;
      if (ending) {
        endInterrupted = true;
      } else {
        lost = lost == null ? thrown : lost;
        taken = false;
      }
    }
    try {
      resume();
    } catch (Throwable e) {
      leaveUnfinished();
    }
  }

  /** Continues the end that a thread could not finish, or hands the operation in again. */
  @Override
  public void resume() {
    if (launch != null && hasAllEnded() && settle()) {
      tellOfEnd();
      return;
    }
    boolean ends;
    boolean waits;
    boolean fails;
    synchronized (this) {
      ends = endInterrupted;
      endInterrupted = false;
      waits = turn && !taken && stage != Stage.DONE;
      fails = lost != null;
    }
    if (ends) {
      try {
        finish(own);
      } catch (Throwable e) {
        synchronized (this) {
          endInterrupted = true;
        }
        throw e;
      }
      settleReleased();
    } else if (waits && fails) {
      run();
    } else if (waits) {
      executor.execute(this);
    }
  }

  @Override
  public void endsTask() {
    taskThread = Thread.currentThread();
  }

  synchronized boolean isTurn() {
    return turn;
  }

  synchronized boolean isSubmitted() {
    return stage == Stage.SUBMITTED;
  }

  synchronized boolean isLentOrDone() {
    return stage == Stage.SUBMITTED || stage == Stage.DONE;
  }

  /**
   * Cancels the operation unless it has started. Returns whether it is cancelled: it stays in its
   * queues and does nothing.
   */
  public synchronized boolean cancel() {
    if (stage == Stage.WAITING && !touched) {
      stage = Stage.CANCELLED;
    }
    return stage == Stage.CANCELLED;
  }

  synchronized boolean isDone() {
    return stage == Stage.DONE;
  }

  synchronized @Nullable Throwable failure() {
    if (failure != null) {
      return failure;
    }
    // The calling thread may have just set `own`, before it is copied to `failure`.
    return own == null ? lost : own;
  }

  @Override
  public @Nullable Thread runner() {
    return runner;
  }

  /**
   * Runs the body, or ends the operation without running it. Its turn has come. Does nothing if
   * another thread has done so or does so now.
   */
  @Override
  public void run() {
    if (launch != null && hasAllEnded()) {
      if (settle()) {
        tellOfEnd();
      }
      return;
    }
    if (!take()) {
      return;
    }
    try {
      if (launch != null && !launch.hasPlace && isWanted() && !launch.takePlace()) {
        return;
      }
      if (claim()) {
        runClaimed();
      } else {
        bodyEnded(lost());
      }
    } catch (Throwable e) {
      lose(e);
    }
  }

  @Override
  synchronized void giveTurnUp() {
    taken = false;
    runner = null;
  }

  /** Continues after the last run of the body, or when the body will not run. */
  private void bodyEnded(@Nullable Throwable thrown) {
    if (launch == null) {
      finish(thrown);
    } else if (launch.isLending() && thrown == null && hasBegun()) {
      // The thread that ends the lending may be in the middle of another task.
      taskThread = null;
      synchronized (this) {
        commandSubmitted();
      }
      // Native code may keep the bytes for long.
      uses[0].storage().context().waiters().stopped();
    } else if (launch.isSubmitted()) {
      try {
        own = thrown;
        if (thrown == null) {
          tellOfSubmission();
        } else {
          synchronized (this) {
            commandSubmitted();
          }
        }
      } finally {
        launch.follow();
      }
    } else {
      // The operation keeps its place until everything ahead has ended, but uses nothing any more.
      stopOccupying();
      synchronized (this) {
        runner = null;
      }
      if (commandEnded(thrown)) {
        tellOfEnd();
      }
    }
  }

  private synchronized boolean hasBegun() {
    return stage == Stage.STARTED;
  }

  @Override
  void commandSubmitted() {
    stage = Stage.SUBMITTED;
    runner = null;
    if (launch != null && launch.isLending()) {
      notifyAll();
    }
  }

  /** Lets launches behind this one be submitted. */
  void tellOfSubmission() {
    letLaunchesFollow(ending());
  }

  @Override
  boolean deviceEnded(@Nullable Throwable thrown) {
    Throwable failure = own == null ? thrown : own;
    try {
      failure = own == null && thrown != null ? explained(thrown) : failure;
    } catch (Throwable e) {
      // Report the failure as it was thrown.
      failure = thrown;
    }
    return commandEnded(failure);
  }

  /**
   * Notes that the command has ended, or that there will be none. The operation ends too, unless
   * one ahead has not ended. Only the first call has an effect. Does not throw.
   *
   * @param thrown the failure of the command or the body
   * @return whether the operation has ended; the caller then calls {@link #tellOfEnd}
   */
  boolean commandEnded(@Nullable Throwable thrown) {
    try {
      if (launch != null && launch.end()) {
        own = thrown;
        try {
          return commandLeaves() && settle();
        } finally {
          launch.leavePlace();
        }
      }
    } catch (Throwable e) {
      lose(e);
    }
    return false;
  }

  /**
   * Ends an operation whose command, and everything ahead, has ended.
   *
   * @return whether it has ended; the caller then calls {@link #tellOfEnd}. False if another thread
   *     ends it, or ends it later
   */
  private boolean settle() {
    if (launch == null || !launch.beginToSettle()) {
      return false;
    }
    boolean hasEnded = endSettled();
    if (hasEnded) {
      settleReleased();
    }
    return hasEnded;
  }

  private boolean endSettled() {
    // The thread may be in the middle of another task.
    taskThread = null;
    runner = Thread.currentThread();
    try {
      end(own);
      return true;
    } catch (Throwable e) {
      lose(e);
      return false;
    }
  }

  /**
   * Ends the launches behind this one that ended on the device before this one was settled, and
   * those behind them. This thread ends them one by one, because waking others takes longer.
   */
  private void settleReleased() {
    OrderedOperation next = takeReleased();
    try {
      for (; next instanceof RunningOperation operation; next = takeReleased()) {
        if (operation.launch != null
            && operation.launch.beginToSettle()
            && operation.endSettled()) {
          // Before the listener is called: if that fails, another thread ends the successors.
          adoptReleased(operation);
          operation.tellOfEnd();
        }
      }
    } catch (Throwable e) {
      for (; next != null; next = takeReleased()) {
        next.leaveUnfinished();
      }
    }
  }

  @Override
  void tellOfEnd() {
    try {
      tell();
    } catch (Throwable e) {
      // lose() accepts only the runner, and another thread may have ended the operation.
      runner = Thread.currentThread();
      lose(e);
    }
  }

  /**
   * Returns the executor of the calling thread, if that thread looks for its next task right after
   * the end of this operation; else null.
   */
  private @Nullable Executor ending() {
    return Thread.currentThread().equals(taskThread) ? executor : null;
  }

  /** Takes the operation for the calling thread. Returns false if another thread has taken it. */
  public synchronized boolean take() {
    if (taken || stage == Stage.DONE) {
      return false;
    }
    taken = true;
    runner = Thread.currentThread();
    return true;
  }

  /** Returns the error outside of the body that keeps it from running; null if there is none. */
  public synchronized @Nullable Throwable lost() {
    return lost;
  }

  /**
   * Starts the operation at its turn; it cannot be cancelled then. Returns whether the body runs.
   */
  public boolean claim() {
    // Before the monitor of this object: the monitors of storages are taken first.
    if (!occupies() && isWanted()) {
      beginToOccupy();
    }
    synchronized (this) {
      boolean runs = isWanted();
      if (runs) {
        stage = Stage.STARTED;
        startNanos = System.nanoTime();
      }
      return runs;
    }
  }

  /** Returns whether the body must still run. */
  private synchronized boolean isWanted() {
    return stage == Stage.WAITING && lost == null && (failure == null || always);
  }

  /** Runs the claimed body. Ends the operation, unless the body is tried again later. */
  public void runClaimed() {
    Throwable thrown = attempt();
    long pause = thrown == null ? -1 : pause(thrown);
    while (awaited && pause >= 0) {
      waitFor(pause);
      thrown = attempt();
      pause = thrown == null ? -1 : pause(thrown);
    }
    if (pause >= 0) {
      CompletableFuture.delayedExecutor(pause, TimeUnit.NANOSECONDS, this::handInAgain)
          .execute(this::runAgain);
    } else {
      bodyEnded(thrown);
    }
  }

  /** Called on a thread that reports no failures. */
  private void handInAgain(Runnable attempt) {
    try {
      executor.execute(attempt);
    } catch (Throwable e) {
      runner = Thread.currentThread();
      lose(e);
    }
  }

  private void runAgain() {
    runner = Thread.currentThread();
    try {
      runClaimed();
    } catch (Throwable e) {
      lose(e);
    }
  }

  private @Nullable Throwable attempt() {
    attempts++;
    try {
      ResourceAccesses.runs(uses);
      bringBack();
      Objects.requireNonNull(body, "it has not ended").run();
      return null;
    } catch (Throwable e) {
      return explained(e);
    } finally {
      ResourceAccesses.ran(uses);
    }
  }

  /** Returns the failure as users see it. */
  private Throwable explained(Throwable thrown) {
    return ResourceAccesses.explained(uses, thrown);
  }

  /** Brings spilled bytes of several storages into memory together. */
  private void bringBack() {
    if (!always && uses.length > 1) {
      ResourceAccesses.provideMemory(uses, this);
    }
  }

  /** Waits on the calling thread. An interrupt stays set. */
  private static void waitFor(long nanos) {
    long end = System.nanoTime() + nanos;
    Uninterruptibly.await(() -> TimeUnit.NANOSECONDS.sleep(end - System.nanoTime()));
  }

  /** Forbids further attempts. The body calls this before a step that cannot be repeated. */
  public void endAttempts() {
    isLastAttempt = true;
  }

  private long pause(Throwable failure) {
    if (retries.most() == 0 || isLastAttempt) {
      return -1;
    }
    long now = System.nanoTime();
    firstFailureNanos = attempts == 1 ? now : firstFailureNanos;
    return retries.pause(failure, attempts, now - firstFailureNanos);
  }

  /** Returns whether the body has begun to run, or its bytes to be transferred. */
  public synchronized boolean hasStarted() {
    return startNanos != 0;
  }

  /** Returns how long ago it started; 0 if it never did. */
  public synchronized long elapsedNanos() {
    return startNanos == 0 ? 0 : System.nanoTime() - startNanos;
  }

  /** Returns how often the body was tried; called after the end. */
  public int attempts() {
    return hasStarted() ? Math.max(1, attempts) : 0;
  }

  /** Ends the operation and calls its listener. */
  public void finish(@Nullable Throwable thrown) {
    end(thrown);
    tell();
  }

  /**
   * Ends the operation and wakes threads that wait for the end. Does not call the listener, which
   * {@link #tell} does. May be called again after an error.
   */
  public void end(@Nullable Throwable thrown) {
    if (!ending) {
      own = thrown;
      ending = true;
    }
    if (launch != null && !isDone()) {
      Throwable first = outcome();
      launch.settle(first == null ? own : first);
    }
    Consumer<Throwable> told = failing;
    if (own != null && told != null) {
      told.accept(own);
      failing = null;
    }
    leave();
    body = null;
    synchronized (this) {
      if (stage != Stage.DONE) {
        close(own);
        stage = Stage.DONE;
        notifyAll();
      }
    }
    tellSuccessors(ending());
    // Last: waiting requests check which operations run, and the successors have their turn now.
    if (uses.length > 0) {
      ResourceContext context = uses[0].storage().context();
      context.waiters().released(context.device());
    }
  }

  /** Calls the listener of an operation that has ended. */
  public void tell() {
    if (over) {
      return;
    }
    Consumer<@Nullable Throwable> called = listener;
    if (called != null) {
      try {
        called.accept(outcome());
      } catch (VirtualMachineError e) {
        // It is called again.
        throw e;
      } catch (Throwable e) {
        FailureLog.warn("the listener of an operation failed", e);
      }
    }
    listener = null;
    over = true;
  }

  /**
   * Claims the operation for a batch, although an operation ahead has not ended. The turn comes at
   * the end of that operation; then the batch ends this one.
   *
   * @return whether it is claimed; if not, it runs at its turn
   */
  boolean claimAhead() {
    if (!take()) {
      return false;
    }
    boolean claims;
    try {
      claims = claim();
    } catch (Throwable e) {
      // Otherwise the operation would stay taken, and no thread would run it.
      lose(e);
      throw e;
    }
    synchronized (this) {
      claimed = claims;
      taken = claims;
    }
    return claims;
  }

  /**
   * Takes a claim back. The operation runs alone, when its turn comes or has come.
   *
   * @param travelled whether the batch has begun to transfer its bytes
   */
  public void giveBack(boolean travelled) {
    stopOccupying();
    synchronized (this) {
      claimed = false;
      taken = false;
      runner = null;
      stage = Stage.WAITING;
      touched = travelled;
      startNanos = 0;
    }
  }

  /** Returns the operation's own failure, or an error outside of its body; null if none. */
  @Nullable Throwable ownFailure() {
    return own == null ? lost() : own;
  }
}
