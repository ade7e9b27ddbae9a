package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.HandoffExecutor;
import dev.tidepool.runtime.threads.KernelThreads;
import dev.tidepool.runtime.threads.Resumable;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.support.FailureLog;
import dev.tidepool.spi.support.Uninterruptibly;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One operation on the storages that it uses: when its turn comes, it runs its body, perhaps
 * several times, and ends. {@link OrderedOperation} has its place in the order.
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
 * executor, or on the thread that asked and waits for its turn, if that may block. An operation
 * that carries a {@link Coalescable} may be done together with others instead.
 */
public final class Operation extends OrderedOperation implements HandoffExecutor.Task {

  private enum Stage {
    WAITING,
    CANCELLED,
    STARTED,
    SUBMITTED,
    DONE
  }

  // Null when it has ended, so that no buffer that it used stays reachable through it.
  private @Nullable Runnable body;
  private final Executor executor;
  // The thread that looks for its next task when it has ended this, and may take what comes behind;
  // null if none does. Another thread may end it instead.
  private @Nullable Thread taskThread;

  // Set before the work enters its queues: whether the thread that asked waits to run it, what may
  // travel with others, when it is tried again, and what is told its own failure and its end.
  private boolean awaited;
  private @Nullable Coalescable payload;
  private RetryPolicy retries = RetryPolicy.NONE;
  private @Nullable Consumer<Throwable> failing;
  private @Nullable Consumer<@Nullable Throwable> listener;

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

  private Operation(List<ResourceAccess> uses, Runnable body, Executor executor, boolean always) {
    super(ResourceAccesses.of(uses), always);
    this.body = body;
    this.executor = executor;
  }

  public static Operation of(List<ResourceAccess> uses, Executor executor, Runnable body) {
    return new Operation(uses, body, executor, false);
  }

  /**
   * Creates an operation that runs whatever failed before it, and that a closed storage accepts.
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
  public static Operation moving(
      List<? extends OrderedResource> storages, Executor executor, Runnable body) {
    return new Operation(
        storages.stream().map(ResourceAccess::eviction).toList(), body, executor, true);
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
   * Sets a listener that is told what the body failed with in the end, before the operation leaves
   * its queues. Call it before the submission.
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
   * comes, if {@code here} is true. Not interruptible: an interrupt stays set. A lending is waited
   * for until it is {@linkplain #isLent under way}; {@link #lentUntil} follows.
   *
   * @throws RuntimeException what the work failed with
   */
  public void perform(boolean here) {
    awaited = here;
    finishHereOrJoin(false);
    rethrow();
  }

  @Override
  public boolean isLent() {
    DeviceLaunch lent = launch;
    return lent != null && lent.isLending() && isSubmitted();
  }

  private synchronized boolean isSubmitted() {
    return stage == Stage.SUBMITTED;
  }

  /**
   * Code outside of Tidepool has submitted its commands; called once, when the operation is lent.
   *
   * @param end of the commands; null if they have ended
   * @param failure what is known to have failed
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

  /**
   * Performs work that always runs.
   *
   * @return what its own body failed with in the end, whatever failed before it; null if it did not
   */
  public @Nullable Throwable performAlways(boolean here) {
    awaited = here;
    finishHereOrJoin(false);
    return own == null ? lost() : own;
  }

  /**
   * Performs the work only if all its storages are open and nothing is ahead on any.
   *
   * @return whether it was performed
   * @throws RuntimeException what the work failed with
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
   * Asks for work on one storage, which a thread of the executor performs in its turn; false if the
   * storage is closed.
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

  /** Checks that the calling thread may wait for its turn; if not, cancels the operation. */
  private void checkMayAwait() {
    try {
      KernelBody.checkMayAwait(this);
    } catch (IllegalStateException mayNotWait) {
      // The turn comes after the end of the body that asked. No thread waits for it then.
      awaited = false;
      if (!always) {
        cancel();
      }
      throw mayNotWait;
    }
  }

  private void enter() {
    enter(awaited || always);
  }

  /**
   * Asks for the work and waits for its end. Everything that may throw is inside the try block
   * whose handler removes the operation.
   *
   * @param onlyIfIdle whether it is asked for only if nothing is ahead
   * @return whether it was asked for
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
        // What failed before it was lent may fail with a launch ahead, once that has ended.
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

  /** Throws what the work failed with, if it did. */
  private void rethrow() {
    Throwable thrown = failure();
    if (thrown != null) {
      throw Exceptions.unchecked(thrown);
    }
  }

  /** Nothing is ahead any more: the waiting caller runs the work, or a thread of the executor. */
  private void ready() {
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

  /** Returns whether its listener is the user's, or calls one. */
  public boolean tells() {
    return executor instanceof HandoffExecutor handoff && handoff.tells();
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
  private void abandon(Throwable thrown) {
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

  /** Returns whether nothing is ahead of it and it has not ended. */
  public boolean isItsTurn() {
    if (!isNothingAhead()) {
      return false;
    }
    synchronized (this) {
      return stage != Stage.DONE;
    }
  }

  private synchronized boolean isTurn() {
    return turn;
  }

  /** Waits for the turn of an operation that the calling thread runs. */
  private void awaitTurn() {
    KernelThreads.whileReplaced(() -> Uninterruptibly.await(this, this::isTurn));
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

  /** Lets work start that was {@link #reserve}d; nothing if it was not let in. */
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
   * Asks for the work and forgets it; runs it here if nothing is ahead and {@code here} says so.
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

  private synchronized boolean isLentOrDone() {
    return stage == Stage.SUBMITTED || stage == Stage.DONE;
  }

  /** Returns whether it has ended. */
  synchronized boolean isDone() {
    return stage == Stage.DONE;
  }

  private synchronized @Nullable Throwable failure() {
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
  private void tellOfSubmission() {
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
  private boolean commandEnded(@Nullable Throwable thrown) {
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
      for (; next instanceof Operation operation; next = takeReleased()) {
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

  /** Returns what may travel with others; null if this goes alone. */
  public @Nullable Coalescable payload() {
    return payload;
  }

  /**
   * Claims the work that comes next in this one's queue, if it waits for nothing else and a batch
   * has a place for it. Its turn comes when this has ended; the caller ends it then.
   */
  public @Nullable Operation claimNext(Predicate<Coalescable> fits) {
    return onlySuccessor() instanceof Operation next && next.claimAhead(executor, fits)
        ? next
        : null;
  }

  private boolean claimAhead(Executor of, Predicate<Coalescable> fits) {
    // It has not entered everywhere, or something else is ahead too.
    if (!isOneAhead()
        || awaited
        || !executor.equals(of)
        || payload == null
        || !fits.test(payload)) {
      return false;
    }
    if (!take()) {
      return false;
    }
    boolean claims = claim();
    synchronized (this) {
      claimed = claims;
      taken = claims;
    }
    return claims;
  }

  /**
   * Takes a claim on work back; it goes alone, when its turn comes or has come.
   *
   * @param travelled whether its bytes were on their way
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
      payload = null;
    }
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
}
