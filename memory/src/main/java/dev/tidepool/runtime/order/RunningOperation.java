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
 * {@link RetryPolicy} says so.
 *
 * <p><b>Errors.</b> An error may come from anywhere: the heap is full, no thread starts, the stack
 * ends. Once the operation has entered its queues, nothing that is thrown keeps it there. To end
 * takes no memory and goes on where it was interrupted; what still fails is {@link Resumable} and
 * tried again.
 *
 * <p><b>Threads.</b> A body runs on one thread at a time, and may block it: on a thread of its
 * executor, or on the thread that asked and waits for its turn, if that may block.
 */
abstract class RunningOperation extends OrderedOperation implements HandoffExecutor.Task {

  private enum Stage {
    WAITING,
    CANCELLED,
    STARTED,
    SUBMITTED,
    DONE
  }

  // Null when it has ended, so that no buffer that it used stays reachable through it.
  private @Nullable Runnable body;
  final Executor executor;
  // The thread that looks for its next task when it has ended this, and may take what comes behind;
  // null if none does. Another thread may end it instead.
  private @Nullable Thread taskThread;

  // Set before the operation enters its queues: whether the thread that asked waits to run it, when
  // it is tried again, and what is told its own failure and its end.
  boolean awaited;
  RetryPolicy retries = RetryPolicy.NONE;
  @Nullable Consumer<Throwable> failing;
  @Nullable Consumer<@Nullable Throwable> listener;

  // Guarded by this.
  private boolean turn;
  private Stage stage = Stage.WAITING;
  // What failed beside the body, before the end had begun: the body does not run any more.
  private @Nullable Throwable lost;
  // Whether a thread has taken it to run it; another thread that runs it returns at once.
  private boolean taken;
  // Whether the thread that was ending it has gone before it had done that.
  private boolean endInterrupted;
  private boolean claimed;
  // Whether its bytes were on their way once, so that it can no longer be said to be stopped.
  private boolean touched;
  private long startNanos;

  // The thread that runs the body, or is about to.
  private volatile @Nullable Thread runner;

  // Used only by that thread; the attempts also by listeners, after the end.
  private int attempts;
  private boolean isLastAttempt;
  private long firstFailureNanos;

  // Used only by the thread that ends the operation.
  private boolean ending;
  private @Nullable Throwable own;
  private boolean over;

  RunningOperation(ResourceAccess[] uses, Runnable body, Executor executor, boolean always) {
    super(uses, always);
    this.body = body;
    this.executor = executor;
  }

  /** Returns whether nothing is ahead of it and it has not ended. */
  public boolean isItsTurn() {
    if (!isNothingAhead()) {
      return false;
    }
    synchronized (this) {
      return stage != Stage.DONE;
    }
  }

  /** Nothing is ahead any more: the waiting caller runs the work, or a thread of the executor. */
  void ready() {
    if (isHandedIn()) {
      handIn();
    }
  }

  /**
   * Returns whether a thread of the executor runs it, now that its turn has come; wakes a waiting
   * caller.
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

  /** Hands the work in, whose turn has come, as a task of its own; at once or a little later. */
  @Override
  public void handIn() {
    try {
      executor.execute(this);
    } catch (Throwable e) {
      leaveToBeHandedIn();
    }
  }

  /** Leaves the hand-in to the maintenance thread, because it failed. Its turn has come. */
  @Override
  public void leaveToBeHandedIn() {
    synchronized (this) {
      turn = true;
    }
    leaveUnfinished();
  }

  /**
   * The thread that waited for the turn cannot go on. The body does not run unless another thread
   * has begun it.
   *
   * @param thrown what stopped the thread, which the operation fails with
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

  /** The thread that ran the work could not go on; called by that thread. */
  public void lose(Throwable thrown) {
    synchronized (this) {
      if (over || (taken && !Thread.currentThread().equals(runner))) {
        return;
      }
      if (stage == Stage.SUBMITTED && !ending) {
        // Its queue waits for the command.
        return;
      }
      // So that it is lost once.
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

  /** Goes on with the end that a thread could not finish, or has the work handed in again. */
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

  /** The work is the last of a task of its executor. Called before its end. */
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
   * Returns whether the work was stopped before it started. It stays in its queues, as work that
   * does nothing.
   */
  public synchronized boolean cancel() {
    if (stage == Stage.WAITING && !touched) {
      stage = Stage.CANCELLED;
    }
    return stage == Stage.CANCELLED;
  }

  /** Returns whether it has ended. */
  synchronized boolean isDone() {
    return stage == Stage.DONE;
  }

  synchronized @Nullable Throwable failure() {
    if (failure != null) {
      return failure;
    }
    // What the thread that asks has just ended with, if that is not settled yet.
    return own == null ? lost : own;
  }

  @Override
  public @Nullable Thread runner() {
    return runner;
  }

  /**
   * Runs the body, now that the turn has come, or ends without. Does nothing if another thread did
   * or does that.
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

  /** The body was run for the last time, or will not be. */
  private void bodyEnded(@Nullable Throwable thrown) {
    if (launch == null) {
      finish(thrown);
    } else if (launch.isLending() && thrown == null && hasBegun()) {
      // The thread that ends the lending may be in the middle of another task.
      taskThread = null;
      synchronized (this) {
        commandSubmitted();
      }
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
      // It keeps its place in the order until all ahead has ended, and needs nothing any more.
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

  /** What comes behind may be submitted too. */
  void tellOfSubmission() {
    letLaunchesFollow(ending());
  }

  @Override
  boolean deviceEnded(@Nullable Throwable thrown) {
    Throwable failure = own == null ? thrown : own;
    try {
      failure = own == null && thrown != null ? explained(thrown) : failure;
    } catch (Throwable e) {
      // It ends as it was thrown.
      failure = thrown;
    }
    return commandEnded(failure);
  }

  /**
   * The command has ended, or there will be none. The operation ends too, unless something ahead
   * has not ended. Called once; does not throw.
   *
   * @param thrown what the command or the body failed with
   * @return whether the operation has ended, and its listener is to be {@linkplain #tellOfEnd told}
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
   * @return whether it has ended, and its listener is to be {@linkplain #tellOfEnd told}; false if
   *     another thread ends it, or ends it later
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
   * Ends the launches behind this that ended on the device before this was settled, and those
   * behind them. One after another, on this thread: to wake another for each takes longer.
   */
  private void settleReleased() {
    OrderedOperation next = takeReleased();
    try {
      for (; next instanceof RunningOperation operation; next = takeReleased()) {
        if (operation.launch != null
            && operation.launch.beginToSettle()
            && operation.endSettled()) {
          // Before it is told: what fails then is taken up by another thread.
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
      // Another thread may have ended it.
      runner = Thread.currentThread();
      lose(e);
    }
  }

  /**
   * Returns the executor of the calling thread, which ends this, if that looks for its next task
   * then.
   */
  private @Nullable Executor ending() {
    return Thread.currentThread().equals(taskThread) ? executor : null;
  }

  /** Returns whether the calling thread is the one to run it. */
  public synchronized boolean take() {
    if (taken || stage == Stage.DONE) {
      return false;
    }
    taken = true;
    runner = Thread.currentThread();
    return true;
  }

  /** Returns what failed beside the body, so that it does not run. */
  public synchronized @Nullable Throwable lost() {
    return lost;
  }

  /** Returns whether the body will run; from now on it cannot be stopped. The turn has come. */
  public boolean claim() {
    // Before its own monitor, which is taken after those of storages.
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

  /** Returns whether the body is still to be run. */
  private synchronized boolean isWanted() {
    return stage == Stage.WAITING && lost == null && (failure == null || always);
  }

  /** Runs the claimed body, and ends unless the body is tried again later. */
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

  /** Called on a thread that reports no failure. */
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

  /** Returns what users see of a failure. */
  Throwable explained(Throwable thrown) {
    return ResourceAccesses.explained(uses, thrown);
  }

  /** What several storages have in files must be in memory together. */
  private void bringBack() {
    if (!always && uses.length > 1) {
      ResourceAccesses.provideMemory(uses, this);
    }
  }

  /** Waits on the thread that asked. An interrupt stays set. */
  private static void waitFor(long nanos) {
    long end = System.nanoTime() + nanos;
    Uninterruptibly.await(() -> TimeUnit.NANOSECONDS.sleep(end - System.nanoTime()));
  }

  /** What the body does from now on cannot be done twice. Called by the body. */
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

  /** Returns whether the body has begun to run, or its bytes to travel. */
  public synchronized boolean hasStarted() {
    return startNanos != 0;
  }

  /** Returns how long ago it started; 0 if it never did. */
  public synchronized long elapsedNanos() {
    return startNanos == 0 ? 0 : System.nanoTime() - startNanos;
  }

  /** Returns how often it was tried; called when it has ended. */
  public int attempts() {
    return hasStarted() ? Math.max(1, attempts) : 0;
  }

  /** Ends the work. */
  public void finish(@Nullable Throwable thrown) {
    end(thrown);
    tell();
  }

  /**
   * Ends the work, but does not call its listener, which {@link #tell} does. Threads that wait for
   * it go on. May be called again when it was interrupted.
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
    // Only now, when the operations behind have their turn: waiting requests look which go on.
    if (uses.length > 0) {
      ResourceContext context = uses[0].storage().context();
      context.waiters().released(context.device());
    }
  }

  /** Tells the listener of work that was ended. */
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
   * Claims it for a batch, although an operation ahead has not ended. Its turn comes when that has;
   * the batch ends it then.
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
      // Otherwise it would stay taken, and no thread would run it.
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
   * Takes a claim back: it runs alone, when its turn comes or has come.
   *
   * @param travelled whether its bytes were on their way
   */
  void unclaim(boolean travelled) {
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

  /** Returns what its own body failed with, or what failed beside it; null if nothing did. */
  @Nullable Throwable ownFailure() {
    return own == null ? lost() : own;
  }
}
