package dev.tidepool.runtime.threads;

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
 * The threads that run transfers. The next free thread takes the most urgent transfer that is
 * ready; transfers of one priority run in the order of arrival. Critical transfers have threads
 * that no other transfer may use, so that they begin while bulk transfers hold all others.
 *
 * <p><b>Starvation</b> is excluded: the head of a queue that was overtaken sixteen times in a row
 * goes next.
 *
 * <p><b>Cheap to enter.</b> Waking a thread takes the waking thread longer than all other steps. So
 * at most one woken thread has not looked for a task yet. If it finds a task and more are queued,
 * it wakes the next thread. The scheme is that of {@code ForkJoinPool} (D. Lea). A thread that ends
 * its task looks for another one anyway, so the last task that it hands in wakes no thread.
 *
 * <p><b>Errors.</b> Handing a task in may throw. A task in its queue runs in spite of all errors: a
 * thread that finds the heap full looks again, and a thread that cannot be started is started
 * later.
 *
 * <p><b>Locking.</b> Tasks are added to the queues without a lock. The monitor guards everything
 * else, and a thread that takes from a queue holds it. No thread waits while it holds it.
 */
public final class TransferExecutor extends Resumable implements HandoffExecutor, AutoCloseable {
  private static final int CRITICAL_THREADS = 2;
  private static final int MOST_OVERTAKEN = 16;
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long FULL_HEAP_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final int most;
  private final ThreadFactory threads;
  private final TaskSource tasks;
  // By priority, the least urgent first.
  private final ReadyQueue[] queues =
      Stream.of(TransferPriority.values()).map(_ -> new ReadyQueue()).toArray(ReadyQueue[]::new);

  // Guarded by this; `searching` and `closed` are also read without it.
  private final int[] overtaken = new int[TransferPriority.values().length];
  private final WorkerGroup ordinary;
  private final WorkerGroup critical;
  private volatile int searching;
  private volatile boolean closed;

  /** Selects the next task of a thread. */
  @FunctionalInterface
  public interface TaskSource {
    /** Takes the next task from a queue, with others that it may include; null if there is none. */
    @Nullable Runnable next(Queue<Runnable> queue);
  }

  /** The tasks of one priority that are ready. */
  private final class ReadyQueue implements HandoffExecutor {
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
        // While the session ends, the calling thread runs the task: an operation finds everything
        // closed, and a release returns its memory.
        task.run();
        return false;
      }
      return ready.add(task);
    }
  }

  /** Threads that take from the same queues. Guarded by the monitor. */
  private static final class WorkerGroup {
    private final int most;
    // Has its maximum capacity, because a thread that becomes idle must not allocate.
    private final Deque<Worker> idle;
    private int alive;

    WorkerGroup(int most) {
      this.most = most;
      idle = new ArrayDeque<>(most + 1);
    }
  }

  /**
   * Creates the threads for a given number of concurrent transfers; starts none.
   *
   * @param threads makes platform threads, because transfers block in native calls
   * @param tasks selects the next task of a queue
   */
  public TransferExecutor(int most, ThreadFactory threads, TaskSource tasks) {
    this.most = most;
    this.threads = threads;
    this.tasks = tasks;
    ordinary = new WorkerGroup(most);
    critical = new WorkerGroup(CRITICAL_THREADS);
  }

  /** Returns how many transfers run concurrently, without critical ones. */
  public int most() {
    return most;
  }

  /** Returns the executor for transfers of a priority. */
  public HandoffExecutor at(TransferPriority priority) {
    return queue(priority);
  }

  /** Hands in a task that has no priority of its own. */
  @Override
  public void execute(Runnable task) {
    at(TransferPriority.NORMAL).execute(task);
  }

  @Override
  public void executeNext(Runnable task) {
    at(TransferPriority.NORMAL).executeNext(task);
  }

  private void wakeOne() {
    Worker woken;
    try {
      synchronized (this) {
        woken = searching == 0 ? claimWorker() : null;
      }
    } catch (OutOfMemoryError e) {
      leaveUnfinished();
      return;
    }
    if (woken != null) {
      woken.wake();
    }
  }

  /** Starts a thread for tasks that were handed in while no thread could be started. */
  @Override
  public void resume() {
    if (!isEmpty()) {
      wakeOne();
    }
  }

  /**
   * Claims an idle or new thread, which will look for a task; null if there is none. The caller
   * holds the monitor.
   */
  private @Nullable Worker claimWorker() {
    Worker worker = claimWorker(ordinary);
    return worker == null && !queue(TransferPriority.CRITICAL).ready.isEmpty()
        ? claimWorker(critical)
        : worker;
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // the monitor is held
  private @Nullable Worker claimWorker(WorkerGroup group) {
    Worker worker = group.idle.poll();
    if (worker == null && group.alive < group.most) {
      worker = new Worker(group);
      group.alive++;
    }
    if (worker != null) {
      worker.searches = true;
      searching++;
    }
    return worker;
  }

  /** Takes the next task for a thread of a group; null if none waits. The monitor is held. */
  private @Nullable Runnable choose(WorkerGroup group) {
    if (group == critical) {
      return tasks.next(queue(TransferPriority.CRITICAL).ready);
    }
    int chosen = -1;
    for (int i = queues.length - 1; i >= 0; i--) {
      if (!queues[i].ready.isEmpty() && (chosen < 0 || overtaken[i] >= MOST_OVERTAKEN)) {
        chosen = i;
      }
    }
    if (chosen < 0) {
      Arrays.fill(overtaken, 0);
      return null;
    }
    overtaken[chosen] = 0;
    for (int i = 0; i < chosen; i++) {
      overtaken[i] = queues[i].ready.isEmpty() ? 0 : overtaken[i] + 1;
    }
    return tasks.next(queues[chosen].ready);
  }

  @SuppressWarnings("EnumOrdinal") // there is a queue for each, in their order
  private ReadyQueue queue(TransferPriority priority) {
    return queues[priority.ordinal()];
  }

  private boolean isEmpty() {
    for (ReadyQueue queue : queues) {
      if (!queue.ready.isEmpty()) {
        return false;
      }
    }
    return true;
  }

  private final class Worker implements Runnable {
    private final WorkerGroup group;
    // Guarded by the monitor.
    private boolean searches;
    // Set before the worker is first idle.
    private volatile @Nullable Thread thread;

    Worker(WorkerGroup group) {
      this.group = group;
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

    /** Calls {@link #next} until the heap has the memory that the call needs. */
    private @Nullable Runnable nextInTime() {
      while (true) {
        try {
          return next();
        } catch (OutOfMemoryError e) {
          LockSupport.parkNanos(this, FULL_HEAP_NANOS);
        }
      }
    }

    /** Takes the next task; if there is none, the worker is idle from now on. */
    private @Nullable Runnable next() {
      Runnable task;
      Worker another = null;
      synchronized (TransferExecutor.this) {
        // Before the look: a thread that adds a task while no thread searches wakes one.
        if (searches) {
          searches = false;
          searching--;
        }
        task = choose(group);
        if (task == null) {
          group.idle.push(this);
        }
        if (searching == 0 && !isEmpty()) {
          another = tryClaimWorker();
        }
      }
      if (another != null) {
        another.wake();
      }
      return task;
    }

    /** Returns null also if the heap is full; this thread looks again after its task. */
    private @Nullable Worker tryClaimWorker() {
      try {
        return claimWorker();
      } catch (OutOfMemoryError e) {
        return null;
      }
    }

    /** Waits until a task may be ready. Returns false if this thread ends instead. */
    private boolean rest() {
      long end = System.nanoTime() + IDLE_NANOS;
      while (true) {
        synchronized (TransferExecutor.this) {
          if (searches) {
            return true;
          }
          if (closed || System.nanoTime() - end >= 0) {
            group.idle.remove(this);
            group.alive--;
            return false;
          }
        }
        LockSupport.parkNanos(this, Math.max(1, end - System.nanoTime()));
        // The library does not interrupt this thread, and an interrupt would keep it from parking.
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
          group.alive--;
          alone = ordinary.alive == 0;
        }
        if (alone) {
          // A blocked caller is better than a task that never runs.
          runAll();
        } else {
          // The others may be idle by now: the tasks that were added meanwhile woke none of them.
          leaveUnfinished();
        }
      }
    }
  }

  /** Runs a task. If it throws, only the thread's handler is notified, and the thread continues. */
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
      // The heap has no room for the message.
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

  /** Ends the threads after they have run all tasks. */
  @Override
  public void close() {
    List<Worker> idle;
    synchronized (this) {
      closed = true;
      idle = Stream.concat(ordinary.idle.stream(), critical.idle.stream()).toList();
    }
    idle.forEach(Worker::wake);
  }
}
