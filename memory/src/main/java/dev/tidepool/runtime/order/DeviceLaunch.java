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
 * not ended. It belongs to one operation, which decides when it is submitted and when it settles.
 *
 * <p>A lending is a launch whose commands code outside of Tidepool submits. The operation is under
 * way from the moment when that code may begin. The event is known after the last submission.
 *
 * <p>The event is closed when its command has ended and no other launch is being submitted behind
 * it. A counter of holders keeps it open.
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
     * Returns whether the launch needs no allocation, compilation or copy, so that the calling
     * thread can submit it without blocking.
     */
    boolean isInPlace();

    /**
     * Handles the end of the launch, or that it will not run. Called before any operation behind it
     * starts on the host; called again if it threw.
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

  /** A launch ahead of another one, while that one is submitted. */
  static final class Ahead {
    private final DeviceLaunch launch;
    private final boolean sharesFailure;
    private final @Nullable Ahead next;
    private @Nullable Event event;

    /**
     * Creates one entry of the list.
     *
     * @param sharesFailure whether the launch behind fails if this one fails
     * @param next the rest of the list
     */
    Ahead(DeviceLaunch launch, boolean sharesFailure, @Nullable Ahead next) {
      this.launch = launch;
      this.sharesFailure = sharesFailure;
      this.next = next;
    }
  }

  private final LaunchQueues queues;
  // Null after it has settled, so that the buffers that it used can become unreachable.
  private @Nullable Command command;
  // The foreign queue of a lending; null for launches and for the library's own queues.
  private final @Nullable NativeQueue foreign;
  private final boolean isLending;
  private final boolean comesBehindLaunches;
  private final boolean leadsLaunches;

  // The counters are fields, not objects, because every launch has them.
  // Operations ahead that have neither ended nor been submitted, and one more until this operation
  // has entered.
  private volatile int unsubmitted = 1;
  // 1 once a thread settles the operation.
  private volatile int settling;

  // Set before the operation is submitted.
  private @Nullable LaunchedOperation operation;

  // Written by the thread that submits or runs the operation. Volatile: either the thread that sets
  // `hurried` sees the queue, or the thread that submits sees that `hurried` is set.
  private volatile @Nullable LaunchQueue queue;
  // Written by the thread that awaits the end.
  private volatile boolean ended;
  // Whether the host has begun to wait for the end.
  private volatile boolean hurried;

  // Written only by the queue, under its monitor; `next` also without it by the awaiting thread.
  boolean hasPlace;
  boolean isListed;
  @Nullable DeviceLaunch next;

  // Set before `holders` exceeds 0; cleared by the last holder.
  private @Nullable Event event;
  private volatile int holders;

  // Set before the event; closed with it.
  private @Nullable Event check;

  /**
   * Creates a launch that is not submitted yet.
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
   * Creates a lending that is not submitted yet.
   *
   * @param foreign the queue that receives the commands; null for one of the library's own
   * @param isOrderedByHost whether the lending begins after the end of all operations ahead, and
   *     operations behind begin after its end: the host may use the lent bytes
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
   * Returns whether all operations ahead are submitted or have ended; this may not have entered.
   */
  boolean isFirstToSubmit() {
    return unsubmitted == 1;
  }

  /** Like {@link #isFirstToSubmit}, but the operation has entered. */
  boolean isAllSubmitted() {
    return unsubmitted == 0;
  }

  /** Counts an operation ahead that is not submitted. */
  void addUnsubmitted() {
    UNSUBMITTED.incrementAndGet(this);
  }

  /** Notes that an operation ahead is submitted, or that this has entered; true for the last. */
  boolean removeUnsubmitted() {
    return UNSUBMITTED.decrementAndGet(this) == 0;
  }

  /** Returns whether the calling thread can submit the launch. Does not throw. */
  boolean mayRunHere() {
    try {
      StackReserve.check();
      Command asked = command;
      return asked != null && asked.isInPlace();
    } catch (RuntimeException | Error e) {
      // Another thread runs the body, which fails with the same error.
      return false;
    }
  }

  /**
   * Chooses the queue, and takes a place among the commands that are under way there.
   *
   * @return false if no place is free; the queue hands the operation in again when one is
   */
  boolean takePlace() {
    // After a false another thread may already run the operation. A lending takes no place, because
    // it may last long.
    return hasPlace || isLending || chosen().takePlace(this);
  }

  /** Takes a place if one is free. Otherwise the queue does not list the launch. */
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
   * Orders commands of outside code behind the launches ahead of this one. Called once, by the body
   * of the operation.
   *
   * @return the queue that receives the commands
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
   * Submits the command behind the launches ahead. Called once, by the body of the operation.
   *
   * @throws RuntimeException the driver's refusal
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
   * Like {@link #submit}, but the submission adds further commands to the same queue that report
   * how the command ended. Launches behind this one on the device wait for the command alone.
   *
   * @param check the end of the further commands, once the command is submitted; its failure is the
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

  /** Sets the event that ends when all submitted commands have ended. */
  void submitted(Event submitted) {
    event = submitted;
    HOLDERS.lazySet(this, 1);
  }

  /** Returns the events whose failure the command shares. The queue waits for the other events. */
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

  /** Most launches have one event ahead. */
  private static List<Event> with(List<Event> events, Event more) {
    if (events.isEmpty()) {
      return List.of(more);
    }
    List<Event> all = events.size() == 1 ? new ArrayList<>(events) : events;
    all.add(more);
    return all;
  }

  /**
   * Keeps the event open until it is released; null if the command has ended or was not submitted.
   * Allocates nothing, not even a lambda: the thread may have to submit an entered operation.
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

  /** Releases the event. A failure of the driver to close it concerns no operation. */
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

  /** Returns whether a command was submitted and its event is still open. */
  boolean isSubmitted() {
    return holders > 0;
  }

  /**
   * Notifies the queue that the host waits for the end; if no queue is chosen, {@link #follow} does
   * so. For any thread.
   */
  void hurry() {
    hurried = true;
    LaunchQueue own = queue;
    if (own != null) {
      own.hurry(this);
    }
  }

  /** Hands the launch to its queue, which waits for the end. */
  void follow() {
    LaunchQueue own = Objects.requireNonNull(queue, "it was submitted");
    own.add(this);
    if (hurried) {
      // The queue may not have known the launch then.
      own.hurry(this);
    }
  }

  /** Returns whether the command has ended; false if the driver fails to answer. For any thread. */
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
   * Returns whether the command has ended; false if the driver cannot tell. Never throws or waits.
   */
  boolean hasEnded() {
    try {
      return submitted().isDone() && (check == null || check.isDone());
    } catch (RuntimeException | Error e) {
      return false;
    }
  }

  /**
   * Waits for the end of the command, and releases its event. Does not throw.
   *
   * @return the failure of the command; null if it has not failed
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

  /** Notes that the command has ended, or that there is none. Returns false if that was known. */
  boolean end() {
    boolean first = !ended;
    ended = true;
    return first;
  }

  /** Returns whether {@link #end} was called. */
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

  /** Lets another thread settle the operation. Its command and all operations ahead have ended. */
  void settleLater() {
    try {
      queues.threads().execute(operation());
    } catch (Throwable e) {
      operation().leaveUnfinished();
    }
  }

  /** Returns whether the calling thread must settle the operation; true once. */
  boolean beginToSettle() {
    return settling == 0 && SETTLING.compareAndSet(this, 0, 1);
  }

  /** Reports the end of the operation to the command. May be called again after an error. */
  void settle(@Nullable Throwable failure) {
    Command told = command;
    if (told != null) {
      told.settled(failure);
      command = null;
    }
  }
}
