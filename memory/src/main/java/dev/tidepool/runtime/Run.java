package dev.tidepool.runtime;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.spi.Program;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * One run of a kernel as an operation of its manager, from binding the arguments to the end: the
 * manager waits for it when it closes, and the kernel's programs stay as long. Safe for use by any
 * thread.
 */
final class Run {
  private final ManagerState manager;
  private final HeldPrograms programs;
  private final AtomicBoolean ended = new AtomicBoolean();

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
    if (!programs.beginRun()) {
      manager.finish();
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
