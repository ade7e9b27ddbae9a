package dev.tidepool.runtime.order;

import dev.tidepool.spi.Event;
import dev.tidepool.spi.support.Uninterruptibly;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One operation in the order of the storages that it uses.
 *
 * <p><b>Order.</b> Asking for work enters it into the queues of all its storages at once, under
 * their monitors, always taken in the order of the storages' numbers: so no two pieces of work wait
 * for each other. It starts when everything that it came behind is done: a write comes behind all,
 * a read behind the last write. A {@link DeviceLaunch} may be submitted behind launches that are
 * not done; then the device keeps the order. Nothing waits while it holds a monitor.
 *
 * <p><b>Memory.</b> Only work that has begun {@linkplain PinState occupies} what it uses: the
 * copies of storages that only work in their queues waits for may be moved to make room.
 *
 * <p><b>Failure.</b> When work that writes a storage fails, what is queued behind it on that
 * storage fails with the same exception, without being started, except work that must always run
 * (the release of memory). What is asked for later starts afresh.
 *
 * <p><b>Recovery.</b> A body that failed may run again, at the same place in the order, if its
 * {@link RetryPolicy} says so.
 *
 * <p><b>Errors.</b> An error may come from anywhere: the heap is full, no thread starts, the stack
 * ends. To enter is done as a whole or not at all: memory and stack for it are made sure of before.
 * From then on nothing that is thrown keeps work in its queues. To end takes no memory and goes on
 * where it was interrupted; what still fails is {@link Resumable} and tried again.
 *
 * <p><b>Threads.</b> A body runs on one thread at a time, and may block it: on a thread of its
 * executor, or on the thread that asked and waits for its turn, if that may block. Work that
 * carries a {@link Coalescable} may be done together with other work instead.
 */
public final class Operation extends LaunchedOperation
    implements HandoffExecutor.Task, MultiBufferAdmission.Holder {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  /** What is done when the turn comes. */
  @FunctionalInterface
  public interface Body {
    void run();
  }

  private enum Stage {
    WAITING,
    CANCELLED,
    STARTED,
    SUBMITTED,
    DONE
  }

  /** Work behind this one, and which failures it shares: those that came to it, and its own. */
  private static final class Successor {
    private final Operation work;
    private @Nullable Successor next;
    private boolean sharesInherited;
    private boolean sharesOwn;
    // The operation ahead, until that has ended, and the next one of those that `work` has ahead.
    // Kept for launches that come behind launches.
    private volatile @Nullable Operation ahead;
    private @Nullable Successor nextAhead;
    // Whether the one ahead was submitted, so that the device keeps `work` behind it.
    private boolean submitted;
    private boolean onDevice;
    // Whether it knows of the end; touched only by the thread that ends the work before it.
    private boolean told;

    Successor(Operation work, @Nullable Successor next) {
      this.work = work;
      this.next = next;
    }
  }

  private final ResourceAccess[] uses;
  private final Body body;
  private final Executor executor;
  private final boolean always;
  // One more than the number of unfinished predecessors until the work is entered everywhere.
  private final AtomicInteger ahead = new AtomicInteger(1);

  // Whether what it uses is kept for it; touched only by the thread that enters it, then by the one
  // that runs it.
  private boolean begun;
  // What it puts into the lists of the work before it; made before it enters, and null afterwards.
  private @Nullable Successor places;
  // Whether it is in its queues, or was. Written before any other thread can know of it.
  private boolean entered;
  // Whether who ends it looks for a task next, and may take what comes behind it.
  private boolean endsTask;

  // The launch, if the device may order it; the places of it behind others, linked.
  private @Nullable DeviceLaunch launch;
  private @Nullable Successor firstAhead;

  // Set before the work enters its queues: whether the thread that asked waits to run it, what may
  // travel with others, when it is tried again, and who hears of its own failure.
  private boolean awaited;
  private @Nullable Coalescable payload;
  private RetryPolicy retries = RetryPolicy.NONE;
  private @Nullable Consumer<Throwable> failing;

  // Guarded by this.
  // Whether launches may be submitted behind this one's command.
  private boolean isFollowed;
  private boolean turn;
  private Stage stage = Stage.WAITING;
  private @Nullable Successor firstSuccessor;
  private @Nullable Successor lastSuccessor;
  private @Nullable Throwable failure;
  // What failed beside the body, before the end had begun: the body does not run any more.
  private @Nullable Throwable lost;
  // Whether a thread has taken it to run it; a second thread that comes with it returns.
  private boolean taken;
  // Whether the thread that was ending it has gone before it had done that.
  private boolean endInterrupted;
  private @Nullable Consumer<@Nullable Throwable> listener;
  private boolean claimed;
  // Whether its bytes were on their way once, so that it can no longer be said to be stopped.
  private boolean touched;
  private long startNanos;
  private int attempts;
  private long firstFailureNanos;

  // The thread that runs the body, or is about to.
  private volatile @Nullable Thread runner;

  // Of the end; touched only by the thread that ends it.
  private boolean ending;
  private @Nullable Throwable own;
  private @Nullable Throwable inherited;
  private boolean over;

  private Operation(List<ResourceAccess> uses, Body body, Executor executor, boolean always) {
    this.uses =
        uses.size() == 1
            ? new ResourceAccess[] {uses.getFirst()}
            : uses.toArray(ResourceAccess[]::new);
    this.body = body;
    this.executor = executor;
    this.always = always;
  }

  /** Work that is not asked for yet. */
  public static Operation of(List<ResourceAccess> uses, Executor executor, Body body) {
    return new Operation(distinct(uses), body, executor, false);
  }

  /** Work that runs whatever failed before it, and that a closed storage accepts. */
  public static Operation always(OrderedResource storage, Executor executor, Body body) {
    return new Operation(List.of(ResourceAccess.write(storage)), body, executor, true);
  }

  /** Work that reads a storage, whatever failed before it, and that a closed storage accepts. */
  public static Operation alwaysReading(OrderedResource storage, Executor executor, Body body) {
    return new Operation(List.of(ResourceAccess.read(storage)), body, executor, true);
  }

  /**
   * Work of the library's own that moves bytes of storages to make room: no use of them that
   * counts, and nothing may run beside it.
   */
  public static Operation makingRoom(
      List<? extends OrderedResource> storages, Executor executor, Body body) {
    return new Operation(
        distinct(storages.stream().map(ResourceAccess::eviction).toList()), body, executor, true);
  }

  /** With bytes that may travel together with others; before it is asked for. */
  public Operation carrying(@Nullable Coalescable bytes) {
    payload = bytes;
    return this;
  }

  /** With a body that may run again; before it is asked for. */
  public Operation retrying(RetryPolicy policy) {
    retries = policy;
    return this;
  }

  /**
   * With somebody who hears what its body failed with in the end, before it leaves its queues;
   * before it is asked for.
   */
  public Operation failing(Consumer<Throwable> listener) {
    failing = listener;
    return this;
  }

  /**
   * With a body that submits a launch, which its device may order; before it is asked for. It runs
   * when all operations ahead have ended or are submitted launches, and the operation ends when the
   * command and all operations ahead have ended. Only for operations that are {@link #submit}ted,
   * and for lendings, which are {@link #perform}ed.
   */
  public Operation launching(DeviceLaunch command) {
    launch = command;
    command.belongsTo(this);
    // One more than the operations ahead: the end of its own command.
    ahead.incrementAndGet();
    return this;
  }

  private static List<ResourceAccess> distinct(List<ResourceAccess> uses) {
    if (uses.size() < 2) {
      return uses;
    }
    if (uses.size() == 2) {
      ResourceAccess first = uses.getFirst();
      ResourceAccess second = uses.getLast();
      int order = Long.compare(first.storage().number(), second.storage().number());
      if (order != 0) {
        return order < 0 ? uses : List.of(second, first);
      }
    }
    List<ResourceAccess> sorted = new ArrayList<>(uses);
    sorted.sort((a, b) -> Long.compare(a.storage().number(), b.storage().number()));
    List<ResourceAccess> distinct = new ArrayList<>();
    for (ResourceAccess use : sorted) {
      ResourceAccess last = distinct.isEmpty() ? null : distinct.getLast();
      if (last != null && last.storage().equals(use.storage())) {
        distinct.set(distinct.size() - 1, last.and(use));
      } else {
        distinct.add(use);
      }
    }
    return distinct;
  }

  /**
   * Asks for the work and waits for its end; runs it on the calling thread, once its turn comes, if
   * {@code here} says so. Not interruptible: an interrupt stays set. A lending is waited for until
   * it is {@linkplain #isLent under way}; {@link #lentUntil} follows.
   *
   * @throws RuntimeException what the work failed with
   */
  public void perform(boolean here) {
    awaited = here;
    finishHereOrJoin(false);
    rethrow();
  }

  /** Whether code outside of Tidepool has what this uses. */
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
      commandEnded(failure);
      return;
    }
    DeviceLaunch lent = Objects.requireNonNull(launch, "it is a lending");
    lent.submitted(end);
    if (lent.hasEnded()) {
      // No other thread need be woken for it.
      deviceEnded(lent.awaitEnd());
      return;
    }
    try {
      tellOfSubmission();
    } finally {
      lent.follow();
    }
  }

  /** Whether it was let into its queues. Asked by the thread that asks for it. */
  public boolean hasEntered() {
    return entered;
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
      enter(0);
    }
    if (entered()) {
      ready();
    }
    return true;
  }

  /** Checks that the thread that asked may wait for the turn; if it may not, it takes that back. */
  private void checkMayAwait() {
    try {
      KernelBody.checkMayAwait(this);
    } catch (IllegalStateException forEver) {
      // The turn comes when the body that asked has ended, and is nobody's on that thread then.
      awaited = false;
      if (!always) {
        cancel();
      }
      throw forEver;
    }
  }

  private boolean enterIfIdle(int index) {
    if (index == uses.length) {
      enter(0);
      return true;
    }
    OrderedResource storage = uses[index].storage();
    synchronized (storage) {
      return storage.isIdle() && enterIfIdle(index + 1);
    }
  }

  /**
   * Asks for the work and waits for its end. What may throw is called inside of the one block that
   * takes the work out of its queues.
   *
   * @param onlyIfIdle whether it is asked for only if nothing is ahead
   * @return whether it was asked for
   */
  private boolean finishHereOrJoin(boolean onlyIfIdle) {
    try {
      if (!onlyIfIdle) {
        enter(0);
      } else if (!enterIfIdle(0)) {
        return false;
      }
      boolean isReady = entered();
      if (!isReady) {
        checkMayAwait();
      }
      if (awaited) {
        if (!isReady) {
          awaitTurn();
        }
        run();
      } else {
        if (isReady) {
          ready();
        }
        if (launch == null) {
          await();
        } else {
          KernelThreads.whileReplaced(() -> Uninterruptibly.await(this, this::isLentOrDone));
        }
      }
      return true;
    } catch (Throwable e) {
      if (entered) {
        leave(e);
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
   * Whether a thread of the executor runs it, now that its turn has come; wakes a waiting caller.
   */
  private synchronized boolean isHandedIn() {
    turn = true;
    if (awaited) {
      notifyAll();
    }
    return !awaited && !claimed;
  }

  /** The same on a thread of an executor that looks for its next task right after this. */
  private void readyFor(Executor of) {
    if (!executor.equals(of) || !(executor instanceof HandoffExecutor handoff)) {
      ready();
    } else if (isHandedIn()) {
      try {
        handoff.executeNext(this);
      } catch (Throwable e) {
        leaveUnfinished();
      }
    }
  }

  /** Whether its listener is the user's, or calls one. */
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

  /** Has the work handed in a little later, since that failed now. Its turn has come. */
  @Override
  public void leaveToBeHandedIn() {
    synchronized (this) {
      turn = true;
    }
    leaveUnfinished();
  }

  /**
   * The thread that waited for the work goes, with what it was thrown. The body does not run unless
   * another thread has begun it.
   */
  private void leave(Throwable thrown) {
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
    if (launch != null && ahead.get() == 0 && settle()) {
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
    } else if (waits && fails) {
      run();
    } else if (waits) {
      executor.execute(this);
    }
  }

  /** The work is the last of a task of its executor. Called by who runs it, before its end. */
  @Override
  public void endsTask() {
    endsTask = true;
  }

  /** Whether nothing is ahead of it and it has not ended. */
  public boolean isItsTurn() {
    if (!isNothingAhead()) {
      return false;
    }
    synchronized (this) {
      return stage != Stage.DONE;
    }
  }

  /** Whether its body may run, as far as operations ahead are concerned. */
  private boolean isNothingAhead() {
    return launch == null ? ahead.get() == 0 : launch.unsubmitted.get() == 0;
  }

  private synchronized boolean isTurn() {
    return turn;
  }

  /** Waits for the turn of an operation that the calling thread runs. */
  private void awaitTurn() {
    KernelThreads.whileReplaced(() -> Uninterruptibly.await(this, this::isTurn));
  }

  /** Asks for the work; {@code listener} hears of its end on the thread that ends it. */
  public void submit(Consumer<@Nullable Throwable> listener) {
    try {
      reserve(listener);
    } finally {
      begin();
    }
  }

  /** Asks for the work as {@link #submit} does, but it does not start before {@link #begin}. */
  void reserve(Consumer<@Nullable Throwable> listener) {
    this.listener = listener;
    enter(0);
  }

  /** Lets work start that was {@link #reserve}d; nothing if it was not let in. */
  public void begin() {
    if (!entered || !entered()) {
      return;
    }
    if (launch == null || !begun) {
      ready();
    } else if (launch.tryPlace() && launch.mayRunHere()) {
      run();
    } else {
      vacate();
      begun = false;
      ready();
    }
  }

  /**
   * Asks for the work and forgets it; runs it here if nothing is ahead and {@code here} says so.
   */
  public void release(boolean here) {
    enter(0);
    if (entered()) {
      if (here) {
        run();
      } else {
        handIn();
      }
    }
  }

  /**
   * Whether the work was stopped before it started. It stays in its queues, as work that does
   * nothing.
   */
  public synchronized boolean cancel() {
    if (stage == Stage.WAITING && !touched) {
      stage = Stage.CANCELLED;
    }
    return stage == Stage.CANCELLED;
  }

  /**
   * Waits for the end, without a word on failure.
   *
   * @throws IllegalStateException if the thread computes a kernel that must end before
   */
  public void await() {
    if (!isDone()) {
      KernelBody.checkMayAwait(this);
      KernelThreads.whileReplaced(() -> Uninterruptibly.await(this, this::isDone));
    }
  }

  /** Waits for the end, but only for some time. Returns whether the operation has ended. */
  public boolean await(long nanos) {
    return Uninterruptibly.await(this, nanos, this::isDone);
  }

  private synchronized boolean isLentOrDone() {
    return stage == Stage.SUBMITTED || stage == Stage.DONE;
  }

  /** Whether it has ended. */
  synchronized boolean isDone() {
    return stage == Stage.DONE;
  }

  /** Whether it is the other work, or waits for that, perhaps behind more work between them. */
  boolean isOrComesAfter(Operation other) {
    Set<Operation> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    Deque<Operation> left = new ArrayDeque<>(List.of(other));
    for (Operation next = left.poll(); next != null; next = left.poll()) {
      if (next == this) {
        return true;
      }
      if (seen.add(next)) {
        next.addSuccessorsTo(left);
      }
    }
    return false;
  }

  private synchronized void addSuccessorsTo(Deque<Operation> works) {
    for (Successor next = firstSuccessor; next != null; next = next.next) {
      works.add(next.work);
    }
  }

  /** A storage that both use, else one that this uses, if any; for messages. */
  Optional<OrderedResource> storageSharedWith(Operation other) {
    return Stream.of(uses)
        .map(ResourceAccess::storage)
        .filter(storage -> Stream.of(other.uses).anyMatch(use -> use.storage().equals(storage)))
        .findFirst()
        .or(() -> Stream.of(uses).map(ResourceAccess::storage).findFirst());
  }

  private synchronized @Nullable Throwable failure() {
    if (failure != null) {
      return failure;
    }
    // What the thread that asks has just ended with, if that is not settled yet.
    return own == null ? lost : own;
  }

  /**
   * Takes the monitors of all storages, in order, checks all of them, then enters all queues. What
   * is thrown comes before it has entered any.
   */
  private void enter(int index) {
    if (index < uses.length) {
      synchronized (uses[index].storage()) {
        enter(index + 1);
      }
      return;
    }
    if (!always) {
      StackReserve.check();
    }
    places = places();
    for (ResourceAccess use : uses) {
      use.storage().pins().stop();
    }
    if (!always) {
      long now = System.nanoTime();
      for (ResourceAccess use : uses) {
        use.storage().check(use, now);
      }
    }
    entered = true;
    for (ResourceAccess use : uses) {
      use.storage().queue().enter(this, use);
      use.storage().entered(use);
    }
    places = null;
    // Who runs it at once need not come back for that, and what makes room must never wait for it.
    boolean isFirst = (awaited || always) && ahead.get() == 1;
    if ((isFirst || mayLaunchHere()) && !isAnyMoving()) {
      beginToOccupy();
    }
  }

  /** Whether the thread that asks may submit the launch, as far as operations ahead go. */
  private boolean mayLaunchHere() {
    return launch != null && launch.unsubmitted.get() == 1 && !Thread.currentThread().isVirtual();
  }

  private @Nullable Successor places() {
    int most = 0;
    for (ResourceAccess use : uses) {
      most += use.storage().queue().mostAhead(use);
    }
    Successor made = null;
    for (int i = 0; i < most; i++) {
      made = new Successor(this, made);
    }
    return made;
  }

  /** The thread that runs it now, or did last; null if none has begun. */
  public @Nullable Thread runner() {
    return runner;
  }

  private void beginToOccupy() {
    occupy();
    begun = true;
  }

  private boolean isAnyMoving() {
    boolean any = false;
    for (ResourceAccess use : uses) {
      any |= use.storage().pins().isMoving();
    }
    return any;
  }

  /** Keeps what it uses from being moved; waits while it is. No monitor is held, or none moves. */
  @Override
  public void occupy() {
    for (ResourceAccess use : uses) {
      use.storage().pins().begin(use);
    }
  }

  /** Lets what it uses be moved, though it has begun: it will see to its memory again. */
  @Override
  public void vacate() {
    for (ResourceAccess use : uses) {
      unpin(use);
    }
  }

  /** Ends the use of the copies, if it has begun, and tells requests that wait for memory. */
  private static void unpin(ResourceAccess use) {
    OrderedResource storage = use.storage();
    if (!storage.pins().end(use)) {
      return;
    }
    ResourceContext context = storage.context();
    if (use.purpose() == ResourceAccess.Purpose.MOVE) {
      // The storage has no more to give than before, and requests would try it in turns.
      context.waiters().released(context.device());
    } else {
      context.waiters().released(context.device(), storage);
    }
  }

  /** Whether nothing is ahead any more. */
  private boolean entered() {
    int left = ahead.decrementAndGet();
    return launch == null ? left == 0 : launch.unsubmitted.decrementAndGet() == 0;
  }

  /** Comes behind other work; called while this enters its queues. */
  void follow(Operation other, boolean failsWithIt, boolean otherWrites) {
    boolean onDevice = launch != null && launch.follows(other.launch);
    synchronized (other) {
      if (other.stage != Stage.DONE) {
        Successor place = Objects.requireNonNull(places, "one for each piece of work ahead");
        places = place.next;
        // What failed before work that runs all the same is known by now: who comes behind that
        // starts afresh.
        boolean isOld = other.always && other.ahead.get() == 0;
        place.next = null;
        place.sharesInherited = failsWithIt && !isOld;
        place.sharesOwn = failsWithIt && !isOld && otherWrites;
        if (onDevice) {
          place.ahead = other;
          place.nextAhead = firstAhead;
          firstAhead = place;
        }
        place.submitted = onDevice && other.isFollowed;
        if (launch != null && !place.submitted) {
          launch.unsubmitted.incrementAndGet();
        }
        place.onDevice = onDevice;
        if (other.lastSuccessor == null) {
          other.firstSuccessor = place;
        } else {
          other.lastSuccessor.next = place;
        }
        other.lastSuccessor = place;
        ahead.incrementAndGet();
      }
    }
  }

  /**
   * Runs the body, now that the turn has come, or ends without. Does nothing if another thread did
   * or does that.
   */
  @Override
  public void run() {
    if (launch != null && ahead.get() == 0) {
      var _ = settle();
      return;
    }
    if (!take()) {
      return;
    }
    try {
      if (launch != null && isWanted() && !launch.takePlace()) {
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

  @Override
  @Nullable LaunchQueue queueAhead() {
    for (Successor place = firstAhead; place != null; place = place.nextAhead) {
      Operation other = place.ahead;
      if (other != null && other.launch != null && other.launch.queue() != null) {
        return other.launch.queue();
      }
    }
    return null;
  }

  @Override
  DeviceLaunch.@Nullable Ahead launchesAhead() {
    DeviceLaunch.Ahead all = null;
    for (Successor place = firstAhead; place != null; place = place.nextAhead) {
      Operation other = place.ahead;
      if (other != null && other.launch != null) {
        all = new DeviceLaunch.Ahead(other.launch, place.sharesOwn || place.sharesInherited, all);
      }
    }
    firstAhead = null;
    return all;
  }

  /** The body was run for the last time, or will not be. */
  private void bodyEnded(@Nullable Throwable thrown) {
    if (launch == null) {
      finish(thrown);
    } else if (launch.isLending() && thrown == null && hasBegun()) {
      isUnderWay();
    } else if (launch.isSubmitted()) {
      try {
        own = thrown;
        if (thrown == null) {
          tellOfSubmission();
        } else {
          isUnderWay();
        }
      } finally {
        launch.follow();
      }
    } else {
      // It keeps its place in the order until all ahead has ended, and needs nothing any more.
      vacate();
      begun = false;
      synchronized (this) {
        runner = null;
      }
      commandEnded(thrown);
    }
  }

  private synchronized boolean hasBegun() {
    return stage == Stage.STARTED;
  }

  private synchronized void isUnderWay() {
    stage = Stage.SUBMITTED;
    runner = null;
    if (launch != null && launch.isLending()) {
      notifyAll();
    }
  }

  /** What comes behind may be submitted too. */
  private void tellOfSubmission() {
    isUnderWay();
    Successor newest;
    Successor place;
    synchronized (this) {
      isFollowed = true;
      place = firstSuccessor;
      newest = lastSuccessor;
    }
    for (; place != null; place = place == newest ? null : place.next) {
      DeviceLaunch behind = place.work.launch;
      if (behind != null && place.onDevice && !place.submitted) {
        place.submitted = true;
        if (behind.unsubmitted.decrementAndGet() == 0) {
          readyBehind(place.work);
        }
      }
    }
  }

  @Override
  void deviceEnded(@Nullable Throwable thrown) {
    Throwable failure = own == null ? thrown : own;
    try {
      failure = own == null && thrown != null ? explained(thrown) : failure;
    } catch (Throwable e) {
      // It ends as it was thrown.
      failure = thrown;
    }
    commandEnded(failure);
  }

  /**
   * The command has ended, or there will be none. The operation ends too, unless something ahead
   * has not ended. Called once; does not throw.
   *
   * @param thrown what the command or the body failed with
   */
  void commandEnded(@Nullable Throwable thrown) {
    try {
      if (launch != null && launch.end()) {
        own = thrown;
        try {
          if (ahead.decrementAndGet() == 0) {
            var _ = settle();
          }
        } finally {
          launch.leavePlace();
        }
      }
    } catch (Throwable e) {
      lose(e);
    }
  }

  /**
   * Ends an operation whose command, and everything ahead, has ended.
   *
   * @return false if another thread does
   */
  private boolean settle() {
    if (launch == null || !launch.beginToSettle()) {
      return false;
    }
    runner = Thread.currentThread();
    try {
      finish(own);
    } catch (Throwable e) {
      lose(e);
    }
    return true;
  }

  /** An operation behind this one has its turn. */
  private void readyBehind(Operation next) {
    if (endsTask) {
      next.readyFor(executor);
    } else {
      next.ready();
    }
  }

  /** Whether the calling thread is the one to run it. */
  public synchronized boolean take() {
    if (taken || stage == Stage.DONE) {
      return false;
    }
    taken = true;
    runner = Thread.currentThread();
    return true;
  }

  /** What failed beside the body, so that it does not run. */
  public synchronized @Nullable Throwable lost() {
    return lost;
  }

  /** Whether the body shall run; from now on it cannot be stopped. The turn has come. */
  public boolean claim() {
    // Before its own monitor, which is taken after those of storages.
    if (!begun && isWanted()) {
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

  /** Whether the body is still to be run. */
  private synchronized boolean isWanted() {
    return stage == Stage.WAITING && lost == null && (failure == null || always);
  }

  /** Runs the body of work that was claimed, and ends, unless it shall be tried again later. */
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

  /** On a thread that nobody hears of when it fails. */
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
    for (ResourceAccess use : uses) {
      use.storage().runs();
    }
    try {
      bringBack();
      body.run();
      return null;
    } catch (Throwable e) {
      return explained(e);
    } finally {
      for (ResourceAccess use : uses) {
        use.storage().ran();
      }
    }
  }

  /** Returns what users see of a failure. */
  Throwable explained(Throwable thrown) {
    Throwable explained = thrown;
    for (ResourceAccess use : uses) {
      explained = use.storage().explained(explained);
    }
    return explained;
  }

  /** What several storages have in files must be in memory together. */
  private void bringBack() {
    if (!always && uses.length > 1 && isAnySpilled()) {
      MultiBufferAdmission.inTurn(
          this,
          Stream.of(uses).map(use -> use.storage().context().placing()).toList(),
          () -> Stream.of(uses).forEach(use -> use.storage().provideMemory()));
    }
  }

  private boolean isAnySpilled() {
    boolean any = false;
    for (ResourceAccess use : uses) {
      any |= use.storage().isSpilled();
    }
    return any;
  }

  /** Waits on the thread that asked. An interrupt stays set. */
  private static void waitFor(long nanos) {
    long end = System.nanoTime() + nanos;
    Uninterruptibly.await(() -> TimeUnit.NANOSECONDS.sleep(end - System.nanoTime()));
  }

  private long pause(Throwable failure) {
    if (retries.most() == 0) {
      return -1;
    }
    long now = System.nanoTime();
    firstFailureNanos = attempts == 1 ? now : firstFailureNanos;
    return retries.pause(failure, attempts, now - firstFailureNanos);
  }

  /** What may travel with others; null if this goes alone. */
  public @Nullable Coalescable payload() {
    return payload;
  }

  /**
   * Claims the work that comes next in this one's queue, if it waits for nothing else and a batch
   * has a place for it. Its turn comes when this has ended; who claimed it ends it then.
   */
  public @Nullable Operation claimNext(Predicate<Coalescable> fits) {
    Operation next;
    synchronized (this) {
      if (firstSuccessor == null || firstSuccessor.next != null) {
        return null;
      }
      next = firstSuccessor.work;
    }
    return next.claimAhead(executor, fits) ? next : null;
  }

  private boolean claimAhead(Executor of, Predicate<Coalescable> fits) {
    // It has not entered everywhere, or something else is ahead too.
    if (ahead.get() != 1
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
    vacate();
    begun = false;
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

  /** Whether the body has begun to run, or its bytes to travel. */
  public synchronized boolean hasStarted() {
    return startNanos != 0;
  }

  /** How long ago it started; 0 if it never did. */
  public synchronized long elapsedNanos() {
    return startNanos == 0 ? 0 : System.nanoTime() - startNanos;
  }

  /** How often it was tried; called when it has ended. */
  public int attempts() {
    return hasStarted() ? Math.max(1, attempts) : 0;
  }

  /** Ends the work. */
  public void finish(@Nullable Throwable thrown) {
    end(thrown);
    tell();
  }

  /**
   * Ends the work, but for its listener, whom {@link #tell} tells; who waits for it goes on. May be
   * called again when it was interrupted.
   */
  public void end(@Nullable Throwable thrown) {
    if (!ending) {
      own = thrown;
      ending = true;
    }
    if (launch != null && stage() != Stage.DONE) {
      Throwable first = outcome();
      launch.settle(first == null ? own : first);
    }
    Consumer<Throwable> hears = failing;
    if (own != null && hears != null) {
      hears.accept(own);
      failing = null;
    }
    for (ResourceAccess use : uses) {
      OrderedResource storage = use.storage();
      synchronized (storage) {
        unpin(use);
        storage.queue().leave(this, use);
      }
    }
    synchronized (this) {
      if (stage != Stage.DONE) {
        inherited = failure;
        // A launch that the device ran behind one that failed counts for nothing.
        boolean keeps = own == null || (launch != null && failure != null);
        failure = keeps ? failure : own;
        stage = Stage.DONE;
        notifyAll();
      }
    }
    // Nobody comes behind it any more.
    while (firstSuccessor != null) {
      tell(firstSuccessor);
      firstSuccessor = firstSuccessor.next;
    }
    firstAhead = null;
    lastSuccessor = null;
    // Requests that wait for memory look who goes on; only now is it the turn of what comes behind.
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
    Consumer<@Nullable Throwable> heard = listener;
    if (heard != null) {
      try {
        heard.accept(outcome());
      } catch (VirtualMachineError e) {
        // It hears of it again.
        throw e;
      } catch (Throwable e) {
        LOG.log(Level.WARNING, "the listener of an operation failed", e);
      }
    }
    listener = null;
    over = true;
  }

  private synchronized Stage stage() {
    return stage;
  }

  private synchronized @Nullable Throwable outcome() {
    return failure;
  }

  private void tell(Successor successor) {
    Throwable shared = successor.sharesInherited ? inherited : null;
    shared = successor.sharesOwn ? outcome() : shared;
    Operation next = successor.work;
    boolean isLast;
    boolean starts = false;
    if (!successor.told) {
      next.inherit(shared);
      successor.ahead = null;
      if (next.launch != null && !successor.submitted) {
        starts = next.launch.unsubmitted.decrementAndGet() == 0;
      }
      isLast = next.ahead.decrementAndGet() == 0;
      successor.told = true;
    } else {
      isLast = next.ahead.get() == 0;
      starts = next.launch != null && next.isNothingAhead();
    }
    if (next.launch != null && isLast) {
      // Its command has ended. Not here: of a long chain, each would be ended within the other.
      next.launch.settleLater();
    } else if (isLast || starts) {
      readyBehind(next);
    }
  }

  private synchronized void inherit(@Nullable Throwable shared) {
    failure = failure == null ? shared : failure;
  }
}
