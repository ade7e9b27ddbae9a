package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.StackReserve;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * The place of an operation in the order of the storages that it uses.
 *
 * <p><b>Order.</b> An operation enters the queues of all its storages at once, under their
 * monitors, always taken in the order of the storages' numbers. So no two operations wait for each
 * other. The turn of an operation comes when everything that it came behind has ended: a write
 * comes behind all, a read behind the last write. A {@link DeviceLaunch} may be submitted behind
 * launches that have not ended; then the device keeps the order. No thread waits while it holds a
 * monitor.
 *
 * <p><b>Memory.</b> Only an operation that has begun {@linkplain UseState occupies} what it uses:
 * the copies of storages that are only used by operations in the queue may be moved to free memory.
 *
 * <p><b>Failure.</b> When an operation that writes a storage fails, those behind it on that storage
 * fail with the same exception, without being started, except those that must always run (the
 * release of memory). An operation that enters later starts afresh.
 *
 * <p><b>Errors.</b> Entering is atomic; it allocates and checks the stack first. Leaving allocates
 * nothing and can be resumed.
 *
 * <p>The subclass runs the operation and ends it. The monitor of this object guards the list of the
 * operations behind it.
 */
public abstract class OrderedOperation extends LaunchedOperation
    implements MultiBufferAdmission.Holder {
  private static final AtomicIntegerFieldUpdater<OrderedOperation> AHEAD =
      AtomicIntegerFieldUpdater.newUpdater(OrderedOperation.class, "ahead");

  /** An operation behind this one, and which failures it shares: inherited ones, and its own. */
  private static final class Successor {
    private final OrderedOperation operation;
    private @Nullable Successor next;
    private boolean sharesInherited;
    private boolean sharesOwn;
    // The operation ahead, until that has ended, and the next one of those that `operation` has
    // ahead. Kept for launches that come behind launches.
    private volatile @Nullable OrderedOperation ahead;
    private @Nullable Successor nextAhead;
    // Whether the one ahead was submitted, so that the device keeps `operation` behind it.
    private boolean submitted;
    private boolean onDevice;
    // Whether it knows of the end; touched only by the thread that ends the operation before it.
    private boolean told;

    Successor(OrderedOperation operation, @Nullable Successor next) {
      this.operation = operation;
      this.next = next;
    }
  }

  final ResourceAccess[] uses;

  /** Whether it runs whatever failed before it. */
  final boolean always;

  /** The launch, if the device may order it. Set before the operation enters. */
  @Nullable DeviceLaunch launch;

  // Operations ahead that have not ended, one for its own command that has not, and one more until
  // the operation is entered everywhere.
  private volatile int ahead = 1;

  // What it puts into the lists of the operations before it; made before it enters, and null
  // afterwards.
  private @Nullable Successor places;
  // Whether it is in its queues, or was. Written before any other thread can know of it.
  private boolean entered;
  // The places of a launch behind others, linked.
  private @Nullable Successor firstAhead;
  // Whether what it uses is kept for it; touched only by the thread that enters it, then by the one
  // that runs it.
  private boolean occupies;

  /** What it fails with, its own failure or that of an operation ahead. Guarded by this. */
  @Nullable Throwable failure;

  // Guarded by this.
  // Whether launches may be submitted behind this one's command.
  private boolean isFollowed;
  // Whether nothing comes behind it any more.
  private boolean closed;
  private @Nullable Successor firstSuccessor;
  private @Nullable Successor lastSuccessor;

  // Touched only by the thread that ends it.
  private @Nullable Throwable inherited;
  // Launches behind it that may settle now, linked; and the next of those that this is one of.
  private @Nullable OrderedOperation firstReleased;
  private @Nullable OrderedOperation nextReleased;

  OrderedOperation(ResourceAccess[] uses, boolean always) {
    this.uses = uses;
    this.always = always;
  }

  /**
   * Nothing is ahead of it any more: it may run, as far as the order is concerned.
   *
   * @param ending the executor of the calling thread, if that looks for its next task right after
   *     this; null otherwise
   */
  abstract void ready(@Nullable Executor ending);

  /** Its command was submitted; the monitor is held. */
  abstract void commandSubmitted();

  /** Returns the thread that runs it now, or did last; null if none has begun. */
  public abstract @Nullable Thread runner();

  /** Returns whether code outside of Tidepool has what this uses. */
  public abstract boolean isLent();

  /**
   * Waits for the end; does not report a failure.
   *
   * @throws IllegalStateException if the thread computes a kernel that must end before
   */
  public abstract void await();

  /** Waits for the end, but only for some time. Returns whether the operation has ended. */
  public abstract boolean await(long nanos);

  /** Sets the launch; before the operation enters. */
  void launchBy(DeviceLaunch command) {
    launch = command;
    command.belongsTo(this);
    // The end of its own command.
    AHEAD.incrementAndGet(this);
  }

  /** Returns whether it was let into its queues. Asked by the thread that asks for it. */
  public boolean hasEntered() {
    return entered;
  }

  /**
   * Enters the queues of all storages. It does not start before {@link #mayStart} was called.
   *
   * @param runsAtOnce whether it is to run without delay if nothing is ahead
   */
  void enter(boolean runsAtOnce) {
    enter(0, runsAtOnce);
  }

  /** Enters like {@link #enter} if all storages are open and idle; returns whether it did. */
  boolean enterIfIdle(boolean runsAtOnce) {
    return enterIfIdle(0, runsAtOnce);
  }

  private boolean enterIfIdle(int index, boolean runsAtOnce) {
    if (index == uses.length) {
      enter(0, runsAtOnce);
      return true;
    }
    OrderedResource storage = uses[index].storage();
    synchronized (storage) {
      return storage.isIdle() && enterIfIdle(index + 1, runsAtOnce);
    }
  }

  /**
   * Takes the monitors of all storages, in order, checks all of them, then enters all queues. What
   * is thrown comes before it has entered any.
   */
  private void enter(int index, boolean runsAtOnce) {
    if (index < uses.length) {
      synchronized (uses[index].storage()) {
        enter(index + 1, runsAtOnce);
      }
      return;
    }
    if (!always) {
      StackReserve.check();
    }
    places = places();
    ResourceAccesses.stopInPlace(uses);
    if (!always) {
      ResourceAccesses.check(uses);
    }
    entered = true;
    for (ResourceAccess use : uses) {
      use.storage().queue().enter(this, use);
      use.storage().entered(use);
    }
    places = null;
    // A thread that runs it at once need not come back for that, and an eviction must not wait.
    boolean isFirst = runsAtOnce && ahead == 1;
    if ((isFirst || mayLaunchHere()) && !ResourceAccesses.isAnyMoving(uses)) {
      beginToOccupy();
    }
  }

  /** Returns whether the thread that asks may submit the launch, as far as operations ahead go. */
  private boolean mayLaunchHere() {
    return launch != null && launch.isFirstToSubmit() && !Thread.currentThread().isVirtual();
  }

  private @Nullable Successor places() {
    int most = ResourceAccesses.mostAhead(uses);
    Successor made = null;
    for (int i = 0; i < most; i++) {
      made = new Successor(this, made);
    }
    return made;
  }

  /** Comes behind another operation; called while this enters its queues. */
  void follow(OrderedOperation other, boolean failsWithIt, boolean otherWrites) {
    boolean onDevice = launch != null && launch.follows(other.launch);
    synchronized (other) {
      if (!other.closed) {
        Successor place = Objects.requireNonNull(places, "one for each operation ahead");
        places = place.next;
        // What failed before an operation that always runs is known by now: one that comes behind
        // that starts afresh.
        boolean isOld = other.always && other.ahead == 0;
        place.next = null;
        place.sharesInherited = failsWithIt && !isOld;
        place.sharesOwn = failsWithIt && !isOld && otherWrites;
        if (onDevice) {
          place.ahead = other;
          place.nextAhead = firstAhead;
          firstAhead = place;
        }
        place.submitted = onDevice && other.isFollowed;
        if (!onDevice) {
          other.hurry();
        }
        if (launch != null && !place.submitted) {
          launch.addUnsubmitted();
        }
        place.onDevice = onDevice;
        if (other.lastSuccessor == null) {
          other.firstSuccessor = place;
        } else {
          other.lastSuccessor.next = place;
        }
        other.lastSuccessor = place;
        AHEAD.incrementAndGet(this);
      }
    }
  }

  /** The host waits for the end: that of a launch is told without delay. */
  void hurry() {
    if (launch != null) {
      launch.hurry();
    }
  }

  /** It has entered and may start from now on. Returns whether nothing is ahead any more. */
  boolean mayStart() {
    int left = AHEAD.decrementAndGet(this);
    return launch == null ? left == 0 : launch.removeUnsubmitted();
  }

  /** Returns whether its body may run, as far as operations ahead are concerned. */
  boolean isNothingAhead() {
    return launch == null ? ahead == 0 : launch.isAllSubmitted();
  }

  /** Returns whether it has entered everywhere, and one operation ahead has not ended. */
  boolean isOneAhead() {
    return ahead == 1;
  }

  /** Returns whether its command, if it has one, and everything ahead have ended. */
  boolean hasAllEnded() {
    return ahead == 0;
  }

  /** Its command has ended, or there will be none. Returns whether everything ahead has ended. */
  boolean commandLeaves() {
    return AHEAD.decrementAndGet(this) == 0;
  }

  @Override
  @Nullable LaunchQueue queueAhead() {
    for (Successor place = firstAhead; place != null; place = place.nextAhead) {
      OrderedOperation other = place.ahead;
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
      OrderedOperation other = place.ahead;
      if (other != null && other.launch != null) {
        all = new DeviceLaunch.Ahead(other.launch, place.sharesOwn || place.sharesInherited, all);
      }
    }
    firstAhead = null;
    return all;
  }

  /**
   * Its command was submitted: launches behind it may be submitted too.
   *
   * @param ending see {@link #ready}
   */
  void letLaunchesFollow(@Nullable Executor ending) {
    Successor newest;
    Successor place;
    synchronized (this) {
      commandSubmitted();
      isFollowed = true;
      place = firstSuccessor;
      newest = lastSuccessor;
    }
    for (; place != null; place = place == newest ? null : place.next) {
      DeviceLaunch behind = place.operation.launch;
      if (behind != null && place.onDevice && !place.submitted) {
        place.submitted = true;
        if (behind.removeUnsubmitted()) {
          place.operation.ready(ending);
        }
      }
    }
  }

  /**
   * Returns whether what it uses is kept for it. For the thread that enters it, then the one that
   * runs it.
   */
  boolean occupies() {
    return occupies;
  }

  void beginToOccupy() {
    occupy();
    occupies = true;
  }

  void stopOccupying() {
    vacate();
    occupies = false;
  }

  @Override
  public boolean usesSeveral() {
    return uses.length > 1;
  }

  /**
   * Keeps what it uses from being moved; waits while it is. Call without a monitor, or when nothing
   * is being moved.
   */
  @Override
  public void occupy() {
    ResourceAccesses.occupy(uses);
  }

  /** Lets what it uses be moved, though it has begun: it will provide its memory again. */
  @Override
  public void vacate() {
    ResourceAccesses.vacate(uses);
  }

  /** Leaves the queues of all storages. May be called again. */
  void leave() {
    for (ResourceAccess use : uses) {
      OrderedResource storage = use.storage();
      synchronized (storage) {
        ResourceAccesses.vacate(use);
        storage.queue().leave(this, use);
      }
    }
  }

  /** Nothing comes behind it from now on. Called once; the monitor is held. */
  void close(@Nullable Throwable own) {
    inherited = failure;
    // A launch that the device ran behind one that failed counts for nothing.
    boolean keeps = own == null || (launch != null && failure != null);
    failure = keeps ? failure : own;
    closed = true;
  }

  /**
   * Tells the operations behind it that it has ended. May be called again when it was interrupted.
   *
   * @param ending see {@link #ready}
   */
  void tellSuccessors(@Nullable Executor ending) {
    while (firstSuccessor != null) {
      tell(firstSuccessor, ending);
      firstSuccessor = firstSuccessor.next;
    }
    firstAhead = null;
    lastSuccessor = null;
  }

  private void tell(Successor successor, @Nullable Executor ending) {
    Throwable shared = successor.sharesInherited ? inherited : null;
    shared = successor.sharesOwn ? outcome() : shared;
    OrderedOperation next = successor.operation;
    boolean isLast;
    boolean starts = false;
    if (!successor.told) {
      next.inherit(shared);
      successor.ahead = null;
      if (next.launch != null && !successor.submitted) {
        starts = next.launch.removeUnsubmitted();
      }
      isLast = AHEAD.decrementAndGet(next) == 0;
      successor.told = true;
    } else {
      isLast = next.ahead == 0;
      starts = next.launch != null && next.isNothingAhead();
    }
    if (next.launch != null && isLast) {
      // Its command has ended. Not here: of a long chain, each would be ended within the other.
      if (launch == null) {
        next.launch.settleLater();
      } else if (!next.equals(firstReleased)) {
        release(next);
      }
    } else if (isLast || starts) {
      next.ready(ending);
    }
  }

  private void release(OrderedOperation next) {
    next.nextReleased = firstReleased;
    firstReleased = next;
  }

  /** Takes over the launches that may settle because another operation has ended. */
  void adoptReleased(OrderedOperation other) {
    for (var next = other.takeReleased(); next != null; next = other.takeReleased()) {
      release(next);
    }
  }

  /** Takes a launch that may settle because this has ended; null if there is none left. */
  @Nullable OrderedOperation takeReleased() {
    OrderedOperation next = firstReleased;
    if (next != null) {
      firstReleased = next.nextReleased;
      next.nextReleased = null;
    }
    return next;
  }

  private synchronized void inherit(@Nullable Throwable shared) {
    failure = failure == null ? shared : failure;
  }

  /** Returns what it failed with, as far as that is known; null if it has not failed. */
  synchronized @Nullable Throwable outcome() {
    return failure;
  }

  /** Returns the one operation behind it; null if there is none, or several. */
  synchronized @Nullable OrderedOperation onlySuccessor() {
    return firstSuccessor == null || firstSuccessor.next != null ? null : firstSuccessor.operation;
  }

  /**
   * Returns whether it is the other operation, or waits for that, perhaps behind more between them.
   */
  boolean isOrComesAfter(OrderedOperation other) {
    Set<OrderedOperation> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    Deque<OrderedOperation> left = new ArrayDeque<>(List.of(other));
    for (OrderedOperation next = left.poll(); next != null; next = left.poll()) {
      if (next.equals(this)) {
        return true;
      }
      if (seen.add(next)) {
        next.addSuccessorsTo(left);
      }
    }
    return false;
  }

  private synchronized void addSuccessorsTo(Deque<OrderedOperation> operations) {
    for (Successor next = firstSuccessor; next != null; next = next.next) {
      operations.add(next.operation);
    }
  }

  /** Returns a storage that both use, else one that this uses, if any; for messages. */
  Optional<OrderedResource> storageSharedWith(OrderedOperation other) {
    return ResourceAccesses.shared(uses, other.uses);
  }
}
