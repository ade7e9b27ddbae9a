package dev.tidepool.runtime.order;

import dev.tidepool.transfer.TransferPriority;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The threads that transfers run on, and who gets the next free one: the most urgent that is ready,
 * those of one priority in the order that they came. Critical ones have threads that nothing else
 * may use, so that they begin while bulk transfers hold all others.
 *
 * <p><b>Starvation</b> is excluded: the head of a line that was overtaken sixteen times in a row
 * goes next.
 *
 * <p><b>Cheap to enter.</b> Waking a thread costs the one that wakes it more than all else here. So
 * there is at most one thread that was woken and has not looked yet; when it finds work and there
 * is more, it wakes the next. The scheme is that of {@code ForkJoinPool} (D. Lea). A thread that
 * ends its task looks anyway, so what it hands in last wakes nobody.
 *
 * <p><b>Errors.</b> What cannot be handed in throws. Once it is in its line, it is done whatever is
 * thrown: a thread that finds the heap full looks again, and one that cannot be made is made later.
 *
 * <p><b>Locking.</b> Lines may be entered without a lock; the monitor guards everything else, and
 * who takes from a line holds it. Nothing waits under it.
 */
public final class TransferExecutor extends Resumable implements HandoffExecutor, AutoCloseable {
  private static final int CRITICAL_THREADS = 2;
  private static final int PATIENCE = 16;
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long FULL_HEAP_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final int most;
  private final ThreadFactory threads;
  private final TaskSource tasks;
  // By priority, the least urgent first.
  private final Line[] lines =
      Stream.of(TransferPriority.values()).map(_ -> new Line()).toArray(Line[]::new);

  // Guarded by this; `searching` and `closed` are also read without.
  private final int[] overtaken = new int[TransferPriority.values().length];
  private final Crew ordinary;
  private final Crew critical;
  private volatile int searching;
  private volatile boolean closed;

  /** Says what a thread does next. */
  @FunctionalInterface
  public interface TaskSource {
    /** Takes the next task from a line, and what can be done with it; null if there is none. */
    @Nullable Runnable next(Queue<Runnable> line);
  }

  /** What is ready, of one priority. */
  private final class Line implements HandoffExecutor {
    private final Queue<Runnable> ready = new ConcurrentLinkedQueue<>();

    @Override
    public void execute(Runnable task) {
      if (takes(task) && searching == 0) {
        wakeOne();
      }
    }

    @Override
    public void executeNext(Runnable task) {
      takes(task);
    }

    private boolean takes(Runnable task) {
      if (closed) {
        // What comes while the session ends is done by who asks: it finds out that all is closed,
        // and memory on its way back gets there.
        task.run();
        return false;
      }
      return ready.add(task);
    }
  }

  /** Threads that take the same. Guarded by the monitor. */
  private static final class Crew {
    private final int most;
    // As large as it can get, because a thread that becomes idle allocates nothing.
    private final Deque<Porter> idle;
    private int alive;

    Crew(int most) {
      this.most = most;
      idle = new ArrayDeque<>(most + 1);
    }
  }

  /**
   * Transfers, the given number of them side by side.
   *
   * @param threads makes platform threads, for transfers block in native calls
   * @param tasks says what the next task of a line is
   */
  public TransferExecutor(int most, ThreadFactory threads, TaskSource tasks) {
    this.most = most;
    this.threads = threads;
    this.tasks = tasks;
    ordinary = new Crew(most);
    critical = new Crew(CRITICAL_THREADS);
  }

  /** Transfers that run side by side, but for critical ones. */
  public int most() {
    return most;
  }

  /** Where transfers of a priority are handed in. */
  public HandoffExecutor at(TransferPriority priority) {
    return line(priority);
  }

  /** Hands in what has no priority of its own. */
  @Override
  public void execute(Runnable task) {
    at(TransferPriority.NORMAL).execute(task);
  }

  @Override
  public void executeNext(Runnable task) {
    at(TransferPriority.NORMAL).executeNext(task);
  }

  private void wakeOne() {
    Porter woken;
    try {
      synchronized (this) {
        woken = searching == 0 ? summon() : null;
      }
    } catch (OutOfMemoryError e) {
      leaveUnfinished();
      return;
    }
    if (woken != null) {
      woken.wake();
    }
  }

  /** Has a thread look for what was handed in while none could be made. */
  @Override
  public void resume() {
    if (!isEmpty()) {
      wakeOne();
    }
  }

  /** A thread that shall look for work, if there is one to be had; the monitor is held. */
  private @Nullable Porter summon() {
    Porter porter = summon(ordinary);
    return porter == null && !line(TransferPriority.CRITICAL).ready.isEmpty()
        ? summon(critical)
        : porter;
  }

  private @Nullable Porter summon(Crew crew) {
    synchronized (this) {
      Porter porter = crew.idle.poll();
      if (porter == null && crew.alive < crew.most) {
        porter = new Porter(crew);
        crew.alive++;
      }
      if (porter != null) {
        porter.searches = true;
        searching++;
      }
      return porter;
    }
  }

  /** What the caller, of a crew, does next; null if nothing waits. The monitor is held. */
  private @Nullable Runnable choose(Crew crew) {
    if (crew == critical) {
      return tasks.next(line(TransferPriority.CRITICAL).ready);
    }
    int chosen = -1;
    for (int i = lines.length - 1; i >= 0; i--) {
      if (!lines[i].ready.isEmpty() && (chosen < 0 || overtaken[i] >= PATIENCE)) {
        chosen = i;
      }
    }
    if (chosen < 0) {
      Arrays.fill(overtaken, 0);
      return null;
    }
    overtaken[chosen] = 0;
    for (int i = 0; i < chosen; i++) {
      overtaken[i] = lines[i].ready.isEmpty() ? 0 : overtaken[i] + 1;
    }
    return tasks.next(lines[chosen].ready);
  }

  @SuppressWarnings("EnumOrdinal") // there is a line for each, in their order
  private Line line(TransferPriority priority) {
    return lines[priority.ordinal()];
  }

  private boolean isEmpty() {
    for (Line line : lines) {
      if (!line.ready.isEmpty()) {
        return false;
      }
    }
    return true;
  }

  /** One thread. */
  private final class Porter implements Runnable {
    private final Crew crew;
    // Guarded by the monitor.
    private boolean searches;
    // Set before the porter is first idle.
    private volatile @Nullable Thread thread;

    Porter(Crew crew) {
      this.crew = crew;
    }

    @Override
    public void run() {
      thread = Thread.currentThread();
      do {
        for (Runnable task = nextInTime(); task != null; task = nextInTime()) {
          perform(task);
        }
      } while (rest());
    }

    /** {@link #next}, as soon as the heap has room for what that makes. */
    private @Nullable Runnable nextInTime() {
      while (true) {
        try {
          return next();
        } catch (OutOfMemoryError e) {
          LockSupport.parkNanos(this, FULL_HEAP_NANOS);
        }
      }
    }

    /** Takes what is to be done next; if there is none the porter is idle from now on. */
    private @Nullable Runnable next() {
      Runnable task;
      Porter another = null;
      synchronized (TransferExecutor.this) {
        // Before it looks: who hands something in and finds nobody searching wakes somebody.
        if (searches) {
          searches = false;
          searching--;
        }
        task = choose(crew);
        if (task == null) {
          crew.idle.push(this);
        }
        if (searching == 0 && !isEmpty()) {
          another = summonIfPossible();
        }
      }
      if (another != null) {
        another.wake();
      }
      return task;
    }

    /** Returns null if no thread can be made; then this one looks again. The monitor is held. */
    private @Nullable Porter summonIfPossible() {
      try {
        return summon();
      } catch (OutOfMemoryError e) {
        return null;
      }
    }

    /** Waits until there may be something to do; whether there is. */
    private boolean rest() {
      long end = System.nanoTime() + IDLE_NANOS;
      while (true) {
        synchronized (TransferExecutor.this) {
          if (searches) {
            return true;
          }
          if (closed || System.nanoTime() - end >= 0) {
            crew.idle.remove(this);
            crew.alive--;
            return false;
          }
        }
        LockSupport.parkNanos(this, Math.max(1, end - System.nanoTime()));
        // An interrupt is nobody's, and would keep the thread from parking.
        Thread.interrupted();
      }
    }

    void wake() {
      Thread known = thread;
      if (known != null) {
        LockSupport.unpark(known);
        return;
      }
      start();
    }

    private void start() {
      try {
        threads.newThread(this).start();
      } catch (OutOfMemoryError noThread) {
        boolean alone;
        synchronized (TransferExecutor.this) {
          searches = false;
          searching--;
          crew.alive--;
          alone = ordinary.alive == 0;
        }
        if (alone) {
          // Better a caller that is held up than work that never runs.
          runAll();
        }
      }
    }
  }

  /** A task that throws ends no thread; nobody but the thread's handler hears of it. */
  private static void perform(Runnable task) {
    try {
      task.run();
    } catch (Throwable e) {
      report(e);
    }
  }

  private static void report(Throwable failure) {
    try {
      Thread here = Thread.currentThread();
      here.getUncaughtExceptionHandler().uncaughtException(here, failure);
    } catch (Throwable e) {
      // There is no room for the message.
      return;
    }
  }

  private void runAll() {
    while (true) {
      Runnable task;
      try {
        synchronized (this) {
          task = choose(ordinary);
        }
      } catch (OutOfMemoryError e) {
        leaveUnfinished();
        return;
      }
      if (task == null) {
        return;
      }
      perform(task);
    }
  }

  /** Ends the threads once what was handed in is done. */
  @Override
  public void close() {
    List<Porter> idle;
    synchronized (this) {
      closed = true;
      idle = Stream.concat(ordinary.idle.stream(), critical.idle.stream()).toList();
    }
    idle.forEach(Porter::wake);
  }
}
