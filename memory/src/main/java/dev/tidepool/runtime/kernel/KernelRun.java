package dev.tidepool.runtime.kernel;

import dev.tidepool.runtime.context.ManagerState;
import dev.tidepool.runtime.order.Operation;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One run of a kernel as an operation of its manager, from binding the arguments to the end. The
 * manager waits for it when it closes, and the kernel's programs are kept until then. Thread-safe.
 */
final class KernelRun implements AutoCloseable {
  private static final AtomicIntegerFieldUpdater<KernelRun> ENDED =
      AtomicIntegerFieldUpdater.newUpdater(KernelRun.class, "ended");

  private final ManagerState manager;
  private final KernelPrograms programs;
  // 1 once it has ended.
  private volatile int ended;
  // Used only by the thread that began the run.
  private @Nullable Operation last;

  private KernelRun(ManagerState manager, KernelPrograms programs) {
    this.manager = manager;
    this.programs = programs;
  }

  /**
   * Begins a run.
   *
   * @throws IllegalStateException if the manager is closed; the exception of {@code closed} if the
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

  /** Sets the operation that will {@linkplain #end end} the run, if it enters its queues. */
  void endsWith(Operation operation) {
    last = operation;
  }

  /** Ends the run, unless an operation under way will end it. */
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
