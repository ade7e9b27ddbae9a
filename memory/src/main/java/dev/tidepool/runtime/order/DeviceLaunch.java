package dev.tidepool.runtime.order;

import dev.tidepool.runtime.threads.StackReserve;
import dev.tidepool.spi.Event;
import dev.tidepool.spi.EventWait;
import dev.tidepool.spi.LaunchOrder;
import dev.tidepool.spi.NativeQueue;
import dev.tidepool.spi.Queue;
import dev.tidepool.spi.support.FailureLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * The launch of an operation that the device may order: it is submitted behind launches that have
 * not ended. Belongs to one operation, which says when it is submitted and when it settles.
 *
 * <p>A lending is a launch whose commands code outside of Tidepool submits. The operation is under
 * way from the moment when that code may begin; the event is known when it has submitted all.
 *
 * <p>The event is closed when its command has ended and no other launch is being submitted behind
 * it. Those that keep it open are counted.
 */
public final class DeviceLaunch {
  private static final AtomicIntegerFieldUpdater<DeviceLaunch> UNSUBMITTED =
      AtomicIntegerFieldUpdater.newUpdater(DeviceLaunch.class, "unsubmitted");
  private static final AtomicIntegerFieldUpdater<DeviceLaunch> HOLDERS =
      AtomicIntegerFieldUpdater.newUpdater(DeviceLaunch.class, "holders");
  private static final AtomicIntegerFieldUpdater<DeviceLaunch> SETTLING =
      AtomicIntegerFieldUpdater.newUpdater(DeviceLaunch.class, "settling");

  /** What is launched. */
  public interface Command {
    /**
     * Returns whether nothing has to be made or moved for it, so that the thread that asks for it
     * can submit it without blocking.
     */
    boolean isInPlace();

    /**
     * It has ended, or will not run. Called before anything that comes behind the operation starts
     * on the host; again if it threw.
     *
     * @param failure its own, or that of a launch ahead; null if it has not failed
     */
    void settled(@Nullable Throwable failure);
  }

  /** Submits a command behind others. */
  @FunctionalInterface
  public interface Submission {
    Event submit(Queue queue, List<Event> dependsOn);
  }

  /** A launch that another one comes behind, while that is submitted. */
  static final class Ahead {
    private final DeviceLaunch launch;
    private final boolean sharesFailure;
    private final @Nullable Ahead next;
    private @Nullable Event event;

    /**
     * One of several.
     *
     * @param sharesFailure whether the one behind fails if this fails
     * @param next the others
     */
    Ahead(DeviceLaunch launch, boolean sharesFailure, @Nullable Ahead next) {
      this.launch = launch;
      this.sharesFailure = sharesFailure;
      this.next = next;
    }
  }

  private final LaunchQueues queues;
  // Null when it has settled, so that no buffer that it used stays reachable through it.
  private @Nullable Command command;
  // The foreign queue of a lending; null for launches and for the library's own queues.
  private final @Nullable NativeQueue foreign;
  private final boolean isLending;
  private final boolean comesBehindLaunches;
  private final boolean leadsLaunches;

  // Counters are fields, and not objects, because every launch has them.
  // Operations ahead that are not submitted, and one more until the operation is entered.
  private volatile int unsubmitted = 1;
  // 1 once a thread settles the operation.
  private volatile int settling;

  // Set before the operation is asked for.
  private @Nullable LaunchedOperation operation;

  // Touched by the thread that runs the operation, then by the one that waits for the command.
  private @Nullable LaunchQueue queue;
  private volatile boolean ended;

  // Used only by the queue, under its monitor.
  boolean hasPlace;
  boolean isListed;
  @Nullable DeviceLaunch next;

  // Set before `holders` is more than 0; cleared by the last holder.
  private @Nullable Event event;
  private volatile int holders;

  // Set before the event. Closed with it.
  private @Nullable Event check;

  /**
   * Creates a launch that is not asked for yet.
   *
   * @param queues of the manager whose device runs it
   */
  public DeviceLaunch(LaunchQueues queues, Command command) {
    this.queues = queues;
    this.command = command;
    this.foreign = null;
    this.isLending = false;
    this.comesBehindLaunches = true;
    this.leadsLaunches = true;
  }

  private DeviceLaunch(
      LaunchQueues queues,
      @Nullable NativeQueue foreign,
      boolean isOrderedByHost,
      Command command) {
    this.queues = queues;
    this.command = command;
    this.foreign = foreign;
    this.isLending = true;
    LaunchOrder order = queues.order();
    this.comesBehindLaunches = !isOrderedByHost && (foreign == null || order != LaunchOrder.HOST);
    this.leadsLaunches =
        !isOrderedByHost && (foreign == null || order == LaunchOrder.ACROSS_QUEUES);
  }

  /**
   * Returns a lending that is not asked for yet.
   *
   * @param foreign the queue that the commands go to; null for one of the library's own
   * @param isOrderedByHost whether it begins when everything ahead has ended, and what comes behind
   *     begins when it has ended: the host may use what is lent
   */
  public static DeviceLaunch lending(
      LaunchQueues queues,
      @Nullable NativeQueue foreign,
      boolean isOrderedByHost,
      Command command) {
    return new DeviceLaunch(queues, foreign, isOrderedByHost, command);
  }

  /** Sets the operation, which has no other launch. */
  void belongsTo(LaunchedOperation owner) {
    operation = owner;
  }

  LaunchedOperation operation() {
    return Objects.requireNonNull(operation, "it was asked for");
  }

  /**
   * Returns whether all operations ahead are submitted, but the operation may not be entered yet.
   */
  boolean isFirstToSubmit() {
    return unsubmitted == 1;
  }

  /** Returns whether all operations ahead are submitted, and the operation is entered. */
  boolean isAllSubmitted() {
    return unsubmitted == 0;
  }

  /** It comes behind an operation that is not submitted. */
  void addUnsubmitted() {
    UNSUBMITTED.incrementAndGet(this);
  }

  /** An operation ahead was submitted, or this is entered; whether that was the last. */
  boolean removeUnsubmitted() {
    return UNSUBMITTED.decrementAndGet(this) == 0;
  }

  /** Returns whether the calling thread, which asks for it, can submit it. Does not throw. */
  boolean mayRunHere() {
    try {
      StackReserve.check();
      Command asked = command;
      return asked != null && asked.isInPlace();
    } catch (RuntimeException | Error e) {
      // The body fails with it, on another thread.
      return false;
    }
  }

  /**
   * Chooses the queue, and takes a place among the commands that are under way there.
   *
   * @return false if there is none; the operation is then run again when there is
   */
  boolean takePlace() {
    // If there is none, another thread may run the operation by now. What is lent takes none: it
    // may stay for long.
    return hasPlace || isLending || chosen().takePlace(this);
  }

  /** Takes a place if there is one; the operation is not listed otherwise. */
  boolean tryPlace() {
    return hasPlace || isLending || chosen().tryPlace(this);
  }

  /** Returns whether code outside of Tidepool submits the commands. */
  boolean isLending() {
    return isLending;
  }

  /** Returns whether the device keeps this behind a launch ahead, so that the host need not. */
  boolean follows(@Nullable DeviceLaunch ahead) {
    return comesBehindLaunches && ahead != null && ahead.leadsLaunches;
  }

  private LaunchQueue chosen() {
    LaunchQueue chosen = queue;
    if (chosen == null) {
      LaunchQueue ahead = foreign == null ? operation().queueAhead() : queues.apart();
      chosen = ahead == null ? queues.next() : ahead;
      queue = chosen;
    }
    return chosen;
  }

  /**
   * Lets commands of others come behind the launches that this comes after. Called once, by the
   * body of the operation.
   *
   * @return the queue that they go to
   */
  public NativeQueue lend() {
    LaunchQueue own = chosen();
    NativeQueue target = foreign == null ? own.queue() : foreign;
    Ahead ahead = operation().launchesAhead();
    for (Ahead each = ahead; each != null; each = each.next) {
      Event before = each.launch.keep();
      if (before != null) {
        try {
          if (each.launch.queue != own) {
            target.after(before);
          }
        } finally {
          each.launch.releaseQuietly();
        }
      }
    }
    return target;
  }

  /**
   * Submits the command behind those that it comes after. Called once, by the body of the
   * operation.
   *
   * @throws RuntimeException what the driver refuses it with
   */
  public void submit(Submission submission) {
    LaunchQueue own = Objects.requireNonNull(queue, "it has a place");
    Ahead ahead = operation().launchesAhead();
    for (Ahead each = ahead; each != null; each = each.next) {
      each.event = each.launch.keep();
    }
    try {
      submitted(submission.submit(own.queue(), eventsBefore(own, ahead)));
    } finally {
      for (Ahead each = ahead; each != null; each = each.next) {
        if (each.event != null) {
          each.launch.releaseQuietly();
        }
      }
    }
  }

  /**
   * Submits a command like {@link #submit}, and others behind it on the same queue that tell how it
   * ended. What comes behind the launch on the device comes behind the command alone.
   *
   * @param check the end of the other commands, once the command is submitted; its failure is the
   *     launch's. Closed in the end, but not if the submission fails
   */
  public void submitChecked(Submission submission, Event check) {
    submit(
        (queue, dependsOn) -> {
          Event command = submission.submit(queue, dependsOn);
          this.check = check;
          return command;
        });
  }

  /** Its commands have been submitted; they have ended when the event has. */
  void submitted(Event submitted) {
    event = submitted;
    HOLDERS.lazySet(this, 1);
  }

  /**
   * Returns what the command depends on; the queue comes after others where only the order counts.
   */
  private static List<Event> eventsBefore(LaunchQueue own, @Nullable Ahead ahead) {
    List<Event> dependsOn = List.of();
    for (Ahead each = ahead; each != null; each = each.next) {
      Event before = each.event;
      if (before != null && each.sharesFailure) {
        dependsOn = with(dependsOn, before);
      } else if (before != null && each.launch.queue != own) {
        own.queue().after(before);
      }
    }
    return dependsOn;
  }

  /** Most launches come behind one. */
  private static List<Event> with(List<Event> events, Event more) {
    if (events.isEmpty()) {
      return List.of(more);
    }
    List<Event> all = events.size() == 1 ? new ArrayList<>(events) : events;
    all.add(more);
    return all;
  }

  /**
   * Keeps the event open until it is released; null if it is closed, so that it has ended. Takes no
   * memory, as not even a lambda may: the thread may have to submit an operation that has entered.
   */
  private @Nullable Event keep() {
    int seen = holders;
    while (seen != 0 && !HOLDERS.compareAndSet(this, seen, seen + 1)) {
      seen = holders;
    }
    return seen == 0 ? null : event;
  }

  private void release() {
    if (HOLDERS.decrementAndGet(this) > 0) {
      return;
    }
    Event last = submitted();
    event = null;
    try {
      last.close();
    } finally {
      if (check != null) {
        check.close();
      }
    }
  }

  /** Lets the event go; what a driver fails with then concerns no operation. */
  private void releaseQuietly() {
    try {
      release();
    } catch (RuntimeException | Error e) {
      FailureLog.debug("an event could not be closed", e);
    }
  }

  /** Returns the queue for the commands behind this one; null if it is chosen again. */
  @Nullable LaunchQueue queue() {
    return foreign == null ? queue : null;
  }

  /** Returns whether a command was submitted whose event is not let go. */
  boolean isSubmitted() {
    return holders > 0;
  }

  /** The host waits for the end; nothing if no queue is known for it yet. Any thread. */
  void hurry() {
    LaunchQueue own = queue;
    if (own != null) {
      own.hurry(this);
    }
  }

  /** Hands the command to its queue, which waits for the end. */
  void follow() {
    Objects.requireNonNull(queue, "it was submitted").add(this);
  }

  /** Returns whether the command has ended, for any thread; false if that cannot be told. */
  boolean isOver() {
    if (keep() == null) {
      return true;
    }
    try {
      return hasEnded();
    } finally {
      releaseQuietly();
    }
  }

  /**
   * Returns whether the command has ended; false if that cannot be told. Does not throw, nor wait.
   */
  boolean hasEnded() {
    try {
      return submitted().isDone() && (check == null || check.isDone());
    } catch (RuntimeException | Error e) {
      return false;
    }
  }

  /**
   * Waits for the end of the command, and lets its event go.
   *
   * @return what it failed with. Does not throw
   */
  @Nullable Throwable awaitEnd() {
    Throwable failure = awaitEnd(submitted());
    Throwable found = check == null ? null : awaitEnd(check);
    releaseQuietly();
    return failure == null ? found : failure;
  }

  private static @Nullable Throwable awaitEnd(Event event) {
    try {
      EventWait.untilEnded(event);
      return null;
    } catch (RuntimeException | Error e) {
      return e;
    }
  }

  private Event submitted() {
    return Objects.requireNonNull(event, "it was submitted");
  }

  /** The command has ended, or there will be none; false if that was known. */
  boolean end() {
    boolean first = !ended;
    ended = true;
    return first;
  }

  /** Returns whether its command has ended, or will not be submitted, as far as was noted. */
  boolean isEnded() {
    return ended;
  }

  /** Gives the place back, if it has one. */
  void leavePlace() {
    LaunchQueue own = queue;
    if (own != null) {
      own.leavePlace(this);
    }
  }

  /** Hands the operation to a thread that settles it. Its command and all ahead have ended. */
  void settleLater() {
    try {
      queues.threads().execute(operation());
    } catch (Throwable e) {
      operation().leaveUnfinished();
    }
  }

  /** Returns whether the calling thread is the one that settles the operation; true once. */
  boolean beginToSettle() {
    return settling == 0 && SETTLING.compareAndSet(this, 0, 1);
  }

  /** Tells how the operation ended. May be called again when that was interrupted. */
  void settle(@Nullable Throwable failure) {
    Command told = command;
    if (told != null) {
      told.settled(failure);
      command = null;
    }
  }
}
