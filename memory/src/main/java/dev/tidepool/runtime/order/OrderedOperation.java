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
 * other. The turn of an operation comes when every operation ahead has ended: a write comes behind
 * all others, a read behind the last write. A {@link DeviceLaunch} may be submitted behind launches
 * that have not ended; then the device keeps the order. While it holds a monitor, a thread waits
 * only for short {@linkplain InPlaceAccess copies in place}.
 *
 * <p><b>Memory.</b> Only an operation that has begun {@linkplain UseState occupies} its storages.
 * The copies of storages that only queued operations use may be moved to free memory.
 *
 * <p><b>Failure.</b> When an operation that writes a storage fails, the operations behind it on
 * that storage fail with the same exception and do not start. Operations that must always run, such
 * as the release of memory, run nevertheless. An operation that enters later starts afresh.
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

  /** An operation behind this one, and which of its failures it shares: inherited ones, its own. */
  private static final class Successor {
    private final OrderedOperation operation;
    private @Nullable Successor next;
    private boolean sharesInherited;
    private boolean sharesOwn;
    // `ahead` is the operation ahead, until it has ended. `nextAhead` links the operations that
    // `operation` is behind. Both are set only for launches behind launches.
    private volatile @Nullable OrderedOperation ahead;
    private @Nullable Successor nextAhead;
    // Whether the operation ahead was submitted, so that the device keeps `operation` behind it.
    private boolean submitted;
    private boolean onDevice;
    // Whether the end was reported to `operation`; used only by the thread that ends the one ahead.
    private boolean told;

    Successor(OrderedOperation operation, @Nullable Successor next) {
      this.operation = operation;
      this.next = next;
    }
  }

  final ResourceAccess[] uses;

  /** Whether the operation runs even if an operation ahead has failed. */
  final boolean always;

  /** The launch, if the device may order it. Set before the operation enters. */
  @Nullable DeviceLaunch launch;

  // The number of operations ahead that have not ended. One more for a command of its own that has
  // not ended, and one more until the operation has entered all queues.
  private volatile int ahead = 1;

  // The entries for the lists of the operations ahead. Created before the operation enters; null
  // afterwards.
  private @Nullable Successor places;
  // Whether it has entered its queues. Written before other threads can see the operation.
  private boolean entered;
  // The entries of a launch behind other launches, linked.
  private @Nullable Successor firstAhead;
  // Whether it occupies its storages. Used only by the thread that enters it, then by the runner.
  private boolean occupies;

  /** The failure: its own or that of an operation ahead. Guarded by this. */
  @Nullable Throwable failure;

  // Guarded by this.
  // Whether launches may be submitted behind this one's command.
  private boolean isFollowed;
  // Whether no more operations come behind it. From then on only the thread that ends it changes
  // the list, without the monitor.
  private boolean closed;
  private @Nullable Successor firstSuccessor;
  private @Nullable Successor lastSuccessor;

  // Used only by the thread that ends the operation.
  private @Nullable Throwable inherited;
  // Launches behind it that may settle now, linked, and the link of the list that this is in.
  private @Nullable OrderedOperation firstReleased;
  private @Nullable OrderedOperation nextReleased;

  OrderedOperation(ResourceAccess[] uses, boolean always) {
    this.uses = uses;
    this.always = always;
  }

  /**
   * Lets the operation run, because nothing is ahead of it any more.
   *
   * @param ending the executor of the calling thread, if that looks for its next task right after
   *     this; null otherwise
   */
  abstract void ready(@Nullable Executor ending);

  /** Notes that the command was submitted. The caller holds the monitor. */
  abstract void commandSubmitted();

  /** Returns the thread that runs the operation now or ran it last; null if none has begun. */
  public abstract @Nullable Thread runner();

  /** Returns whether code outside of Tidepool uses the storages. */
  public abstract boolean isLent();

  /**
   * Waits for the end; does not report a failure.
   *
   * @throws IllegalStateException if the calling thread computes a kernel that must end first
   */
  public abstract void await();

  /** Waits for the end for a limited time. Returns whether the operation has ended. */
  public abstract boolean await(long nanos);

  /** Sets the launch; before the operation enters. */
  void launchBy(DeviceLaunch command) {
    launch = command;
    command.belongsTo(this);
    // One more: the end of its own command.
    AHEAD.incrementAndGet(this);
  }

  /** Returns whether it has entered its queues. Called by the thread that enters it. */
  public boolean hasEntered() {
    return entered;
  }

  /**
   * Enters the queues of all storages. The operation does not start before {@link #mayStart}.
   *
   * @param runsAtOnce whether it is to run without delay if nothing is ahead
   */
  void enter(boolean runsAtOnce) {
    enter(0, runsAtOnce);
  }

  /** Enters if all storages are open and idle; returns whether it did. See {@link #enter}. */
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
   * Takes the monitors of all storages, in order, checks all of them, then enters all queues. If
   * this throws, the operation has entered none.
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
    // Occupy now: the thread need not take the monitors again, and an eviction need not wait.
    boolean isFirst = runsAtOnce && ahead == 1;
    if ((isFirst || mayLaunchHere()) && !ResourceAccesses.isAnyMoving(uses)) {
      beginToOccupy();
    }
  }

  /** Returns whether the calling thread may submit the launch, as far as operations ahead go. */
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

  /** Adds this operation to those behind another one. Called while this one enters its queues. */
  void follow(OrderedOperation other, boolean failsWithIt, boolean otherWrites) {
    boolean onDevice = launch != null && launch.follows(other.launch);
    synchronized (other) {
      if (!other.closed) {
        Successor place = Objects.requireNonNull(places, "one for each operation ahead");
        places = place.next;
        // Everything ahead of `other` has ended, so its failure does not change any more. An
        // operation that enters now starts afresh.
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

  /** Requests that the end of a launch is reported without delay, because the host waits for it. */
  void hurry() {
    if (launch != null) {
      launch.hurry();
    }
  }

  /** Lets the operation start, after it has entered. Returns whether nothing is ahead any more. */
  boolean mayStart() {
    int left = AHEAD.decrementAndGet(this);
    return launch == null ? left == 0 : launch.removeUnsubmitted();
  }

  /** Returns whether its body may run, as far as operations ahead allow it. */
  boolean isNothingAhead() {
    return launch == null ? ahead == 0 : launch.isAllSubmitted();
  }

  /** Returns whether it has entered all queues and one operation ahead has not ended. */
  boolean isOneAhead() {
    return ahead == 1;
  }

  /** Returns whether its command, if it has one, and everything ahead have ended. */
  boolean hasAllEnded() {
    return ahead == 0;
  }

  /** Notes that the command, if any, has ended. Returns whether everything ahead has ended. */
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
   * Notes that the command was submitted, and lets launches behind it be submitted too.
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
   * Returns whether it occupies its storages. Called by the thread that enters it, then by the
   * runner.
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
   * Keeps the storages from being moved; waits while they are being moved. The caller holds no
   * monitor, or nothing is being moved.
   */
  @Override
  public void occupy() {
    ResourceAccesses.occupy(uses);
  }

  /** Lets the storages be moved during the operation, which will provide their memory again. */
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

  /** Closes the list of the operations behind it. Called once; the caller holds the monitor. */
  void close(@Nullable Throwable own) {
    inherited = failure;
    // The device ran this launch behind one that failed. Only that first failure counts.
    boolean keeps = own == null || (launch != null && failure != null);
    failure = keeps ? failure : own;
    closed = true;
  }

  /**
   * Notifies the operations behind it of its end. May be called again after an error.
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
      // The command of `next` has ended. Not settled here, because a long chain would recurse.
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

  /** Removes and returns a launch that may settle because this has ended; null if there is none. */
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

  /** Returns the failure that is known so far; null if there is none. */
  synchronized @Nullable Throwable outcome() {
    return failure;
  }

  /** Returns the one operation behind this; null if there is none, or several. */
  synchronized @Nullable OrderedOperation onlySuccessor() {
    return firstSuccessor == null || firstSuccessor.next != null ? null : firstSuccessor.operation;
  }

  /** Returns whether this is the other operation, or waits for it directly or indirectly. */
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
