package dev.tidepool.runtime;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.spi.Program;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One run of a kernel as an operation of its manager, from binding the arguments to the end: the
 * manager waits for it when it closes, and the kernel's programs stay as long. Safe for use by any
 * thread.
 */
final class Run implements AutoCloseable {
  private final ManagerState manager;
  private final HeldPrograms programs;
  private final AtomicBoolean ended = new AtomicBoolean();
  // Touched only by the thread that began the run.
  private @Nullable Work last;

  private Run(ManagerState manager, HeldPrograms programs) {
    this.manager = manager;
    this.programs = programs;
  }

  /**
   * Begins a run.
   *
   * @throws IllegalStateException if the manager is closed, or what {@code closed} makes if the
   *     kernel is
   */
  static Run begin(
      ManagerState manager, HeldPrograms programs, Supplier<IllegalStateException> closed) {
    Run run = new Run(manager, programs);
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

  /** What the kernel was compiled from. */
  KernelSource source() {
    return programs.source();
  }

  /** The program for parameters; blocks while it is compiled. */
  Program program(List<KernelParameter> parameters) {
    return programs.program(parameters);
  }

  /** Leaves it to work to {@linkplain #end end} the run, if the work is asked for. */
  void endsWith(Work work) {
    last = work;
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
    if (ended.compareAndSet(false, true)) {
      try {
        programs.endRun();
      } finally {
        manager.finish();
      }
    }
  }
}
