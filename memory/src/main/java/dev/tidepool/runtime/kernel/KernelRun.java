package dev.tidepool.runtime.kernel;

import dev.tidepool.runtime.context.ManagerState;
import dev.tidepool.runtime.order.Operation;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One run of a kernel as an operation of its manager, from binding the arguments to the end: the
 * manager waits for it when it closes, and the kernel's programs stay as long. Thread-safe.
 */
final class KernelRun implements AutoCloseable {
  private static final AtomicIntegerFieldUpdater<KernelRun> ENDED =
      AtomicIntegerFieldUpdater.newUpdater(KernelRun.class, "ended");

  private final ManagerState manager;
  private final KernelPrograms programs;
  // 1 once it has ended.
  private volatile int ended;
  // Touched only by the thread that began the run.
  private @Nullable Operation last;

  private KernelRun(ManagerState manager, KernelPrograms programs) {
    this.manager = manager;
    this.programs = programs;
  }

  /**
   * Begins a run.
   *
   * @throws IllegalStateException if the manager is closed, or what {@code closed} makes if the
   *     kernel is
   */
  static KernelRun begin(
      ManagerState manager, KernelPrograms programs, Supplier<IllegalStateException> closed) {
    KernelRun run = new KernelRun(manager, programs);
    manager.begin();
    boolean begins = false;
    try {
      begins = programs.beginRun();
    } finally {
      if (!begins) {
        manager.finish();
      }
    }
    if (!begins) {
      throw closed.get();
    }
    return run;
  }

  KernelPrograms programs() {
    return programs;
  }

  /** Leaves it to work to {@linkplain #end end} the run, if the work is asked for. */
  void endsWith(Operation operation) {
    last = operation;
  }

  /** Ends the run, unless work that is under way does so. */
  @Override
  public void close() {
    if (last == null || !last.hasEntered()) {
      end();
    }
  }

  /** Ends the run; idempotent. */
  void end() {
    if (ended == 0 && ENDED.compareAndSet(this, 0, 1)) {
      try {
        programs.endRun();
      } finally {
        manager.finish();
      }
    }
  }
}
