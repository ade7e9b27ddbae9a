package dev.tidepool.runtime;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One operation in the order of the storages that it uses.
 *
 * <p><b>Order.</b> Asking for work enters it into the lanes of all its storages at once, under
 * their monitors, always taken in the order of the storages' numbers: so no two pieces of work wait
 * for each other. It starts when everything that it came behind is done: a write comes behind all,
 * a read behind the last write. Nothing waits while it holds a monitor.
 *
 * <p><b>Failure.</b> When work that writes a storage fails, what is queued behind it on that
 * storage fails with the same exception, without being started, except work that must always run
 * (the release of memory). What is asked for later starts afresh.
 *
 * <p><b>Threads.</b> A body runs once, on one thread, and may block it: on a thread of its
 * executor, or on the thread that asked and waits for its turn, if that may block.
 */
final class Work {
  /** What is done when the turn comes. */
  @FunctionalInterface
  interface Body {
    void run();
  }

  private enum Stage {
    WAITING,
    CANCELLED,
    STARTED,
    DONE
  }

  private record Successor(Work work, boolean fails) {}

  private final List<Use> uses;
  private final Body body;
  private final Executor executor;
  private final boolean always;
  // One more than the number of unfinished predecessors until the work is entered everywhere.
  private final AtomicInteger ahead = new AtomicInteger(1);

  // Whether the thread that asked waits to run it; set before the work enters its lanes.
  private boolean awaited;

  // Guarded by this.
  private boolean turn;
  private Stage stage = Stage.WAITING;
  private @Nullable List<Successor> successors;
  private @Nullable Throwable failure;
  private @Nullable Consumer<@Nullable Throwable> listener;

  private Work(List<Use> uses, Body body, Executor executor, boolean always) {
    this.uses = uses;
    this.body = body;
    this.executor = executor;
    this.always = always;
  }

  /** Work that is not asked for yet. */
  static Work of(List<Use> uses, Executor executor, Body body) {
    return new Work(distinct(uses), body, executor, false);
  }

  /** Work that runs whatever failed before it, and that a closed storage accepts. */
  static Work always(Storage storage, Executor executor, Body body) {
    return new Work(List.of(Use.write(storage)), body, executor, true);
  }

  /**
   * Work of the library's own that moves bytes of storages to make room: no use of them that
   * counts, and nothing may run beside it.
   */
  static Work makingRoom(List<Storage> storages, Executor executor, Body body) {
    return new Work(distinct(storages.stream().map(Use::eviction).toList()), body, executor, true);
  }

  private static List<Use> distinct(List<Use> uses) {
    if (uses.size() < 2) {
      return uses;
    }
    List<Use> sorted = new ArrayList<>(uses);
    sorted.sort((a, b) -> Long.compare(a.storage().number(), b.storage().number()));
    List<Use> distinct = new ArrayList<>();
    for (Use use : sorted) {
      Use last = distinct.isEmpty() ? null : distinct.getLast();
      if (last != null && last.storage() == use.storage()) {
        distinct.set(distinct.size() - 1, last.and(use));
      } else {
        distinct.add(use);
      }
    }
    return distinct;
  }

  /**
   * Asks for the work and waits for its end; runs it on the calling thread, once its turn comes, if
   * {@code here} says so. Not interruptible: an interrupt stays set.
   *
   * @throws RuntimeException what the work failed with
   */
  void perform(boolean here) {
    perform(here, () -> {});
  }

  /** {@link #perform(boolean)} that says when the work has been let in. */
  void perform(boolean here, Runnable admitted) {
    awaited = here;
    enter(0);
    admitted.run();
    finishHereOrJoin();
  }

  /**
   * Performs the work only if all its storages are open and nothing is ahead on any.
   *
   * @return whether it was performed
   * @throws RuntimeException what the work failed with
   */
  boolean performIfIdle(boolean here) {
    awaited = here;
    if (!enterIfIdle(0)) {
      return false;
    }
    finishHereOrJoin();
    return true;
  }

  /**
   * Asks for work on one storage, which a thread of the executor performs in its turn; false if the
   * storage is closed.
   */
  boolean requestIfOpen() {
    Storage storage = uses.getFirst().storage();
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

  private boolean enterIfIdle(int index) {
    if (index == uses.size()) {
      enter(0);
      return true;
    }
    Storage storage = uses.get(index).storage();
    synchronized (storage) {
      return storage.isIdle() && enterIfIdle(index + 1);
    }
  }

  private void finishHereOrJoin() {
    if (entered()) {
      ready();
    }
    if (awaited) {
      awaitTurn();
      run();
    }
    join();
  }

  /** Nothing is ahead any more: the waiting caller runs the work, or a thread of the executor. */
  private void ready() {
    if (!awaited) {
      executor.execute(this::run);
      return;
    }
    synchronized (this) {
      turn = true;
      notifyAll();
    }
  }

  /** Whether nothing is ahead of it and it has not ended. */
  boolean isItsTurn() {
    if (ahead.get() > 0) {
      return false;
    }
    synchronized (this) {
      return stage != Stage.DONE;
    }
  }

  /** Waits for the turn of work that the calling thread runs. */
  private void awaitTurn() {
    boolean interrupted = false;
    synchronized (this) {
      while (!turn) {
        try {
          wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Asks for the work; {@code listener} hears of its end on the thread that ends it. */
  void submit(Consumer<@Nullable Throwable> listener) {
    this.listener = listener;
    enter(0);
    if (entered()) {
      ready();
    }
  }

  /**
   * Asks for the work and forgets it; runs it here if nothing is ahead and {@code here} says so.
   */
  void release(boolean here) {
    enter(0);
    if (entered()) {
      if (here) {
        run();
      } else {
        executor.execute(this::run);
      }
    }
  }

  /**
   * Whether the work was stopped before it started. It stays in its lanes, as work that does
   * nothing.
   */
  synchronized boolean cancel() {
    if (stage == Stage.WAITING) {
      stage = Stage.CANCELLED;
    }
    return stage == Stage.CANCELLED;
  }

  /** Waits for the end, without a word on failure. */
  void await() {
    boolean interrupted = false;
    synchronized (this) {
      while (stage != Stage.DONE) {
        try {
          wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Waits for the end for so long at most; whether it came. */
  boolean await(long nanos) {
    long deadline = System.nanoTime() + nanos;
    boolean interrupted = false;
    boolean done;
    synchronized (this) {
      long left = nanos;
      while (stage != Stage.DONE && left > 0) {
        try {
          wait(left / 1_000_000, (int) (left % 1_000_000));
        } catch (InterruptedException e) {
          interrupted = true;
        }
        left = deadline - System.nanoTime();
      }
      done = stage == Stage.DONE;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return done;
  }

  private void join() {
    await();
    Throwable thrown = failure();
    if (thrown != null) {
      throw Failures.unchecked(thrown);
    }
  }

  private synchronized @Nullable Throwable failure() {
    return failure;
  }

  /** Takes the monitors of all storages, in order, checks all of them, then enters all lanes. */
  private void enter(int index) {
    if (index < uses.size()) {
      synchronized (uses.get(index).storage()) {
        enter(index + 1);
      }
      return;
    }
    if (!always) {
      for (Use use : uses) {
        use.storage().check(use);
      }
    }
    for (Use use : uses) {
      use.storage().lane().enter(this, use.alone());
    }
  }

  /** Whether nothing is ahead any more. */
  private boolean entered() {
    return ahead.decrementAndGet() == 0;
  }

  /** Comes behind other work; called while this enters its lanes. */
  void follow(Work other, boolean failsWithIt) {
    synchronized (other) {
      if (other.stage != Stage.DONE) {
        if (other.successors == null) {
          other.successors = new ArrayList<>(2);
        }
        other.successors.add(new Successor(this, failsWithIt));
        ahead.incrementAndGet();
      }
    }
  }

  private void run() {
    boolean runs;
    synchronized (this) {
      runs = stage == Stage.WAITING && (failure == null || always);
      stage = runs ? Stage.STARTED : stage;
    }
    if (!runs) {
      finish(null);
      return;
    }
    Throwable thrown = null;
    Headway.begun();
    try {
      body.run();
    } catch (Throwable e) {
      thrown = e;
    }
    finish(thrown);
    Headway.ended();
  }

  private void finish(@Nullable Throwable thrown) {
    for (Use use : uses) {
      synchronized (use.storage()) {
        use.storage().lane().leave(this);
      }
    }
    List<Successor> next;
    Throwable outcome;
    Consumer<@Nullable Throwable> heard;
    synchronized (this) {
      failure = thrown == null ? failure : thrown;
      outcome = failure;
      stage = Stage.DONE;
      next = successors == null ? List.of() : successors;
      successors = null;
      heard = listener;
      notifyAll();
    }
    for (Successor successor : next) {
      successor.work().predecessorDone(successor.fails() ? outcome : null);
    }
    if (heard != null) {
      heard.accept(outcome);
    }
  }

  private void predecessorDone(@Nullable Throwable inherited) {
    if (inherited != null) {
      synchronized (this) {
        failure = failure == null ? inherited : failure;
      }
    }
    if (ahead.decrementAndGet() == 0) {
      ready();
    }
  }
}
