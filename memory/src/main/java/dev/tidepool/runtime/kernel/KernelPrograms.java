package dev.tidepool.runtime.kernel;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.runtime.context.OperationGate;
import dev.tidepool.spi.Program;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The programs that one kernel has run with: one for hand-written code, one for each combination of
 * argument types for an expression. They are held until the kernel is closed or unreachable, and
 * its last run has ended.
 *
 * <p>Has no reference to a handle of the kernel, so a kernel that was not closed can become
 * unreachable. The monitor guards the table and is not held during compilation or release.
 */
final class KernelPrograms {
  /** The latest program, by the identity of its parameters. */
  private record LatestProgram(List<KernelParameter> parameters, Program program) {
    // Equal lists that are not identical only cost a look-up in the table.
    @SuppressWarnings("ReferenceEquality")
    boolean isFor(List<KernelParameter> asked) {
      return parameters == asked;
    }
  }

  private final ProgramCache kernels;
  private final KernelSource source;

  // The runs under way. Closed with the kernel; ended when the programs are released.
  private final OperationGate runs = new OperationGate();

  // Guarded by this.
  private final Map<List<KernelParameter>, ProgramCache.Entry> held = new HashMap<>();

  /** Successive launches use the same program, and hashing all parameters would be slow. */
  private volatile @Nullable LatestProgram latest;

  KernelPrograms(ProgramCache kernels, KernelSource source) {
    this.kernels = kernels;
    this.source = source;
  }

  /** Returns the source of the kernel. */
  KernelSource source() {
    return source;
  }

  /** Begins a run, which keeps the programs until {@link #endRun}; false if closed. */
  boolean beginRun() {
    return runs.enter();
  }

  void endRun() {
    runs.leave();
    releaseIfOver(false);
  }

  /**
   * Returns the program for parameters; blocks during its compilation. Called by a run, or before
   * the first run.
   */
  Program program(List<KernelParameter> parameters) {
    LatestProgram known = latest;
    if (known == null || !known.isFor(parameters)) {
      known = new LatestProgram(parameters, find(parameters));
      latest = known;
    }
    return known.program();
  }

  /** Returns the program for parameters if it is the latest; else null. */
  @Nullable Program latest(List<KernelParameter> parameters) {
    LatestProgram known = latest;
    return known != null && known.isFor(parameters) ? known.program() : null;
  }

  private Program find(List<KernelParameter> parameters) {
    synchronized (this) {
      ProgramCache.Entry known = held.get(parameters);
      if (known != null) {
        return known.program();
      }
    }
    ProgramCache.Entry found = kernels.hold(source, parameters);
    ProgramCache.Entry earlier;
    synchronized (this) {
      earlier = held.putIfAbsent(parameters, found);
    }
    if (earlier != null) {
      // Another run has added it meanwhile.
      kernels.release(List.of(found), false);
    }
    return found.program();
  }

  /** Closes the kernel. Programs that only it holds are freed once its last run has ended. */
  void close() {
    runs.close();
    kernels.forget(this);
    releaseIfOver(false);
  }

  /** Ends an unreachable kernel that was not closed, and keeps its programs for equal kernels. */
  void abandon() {
    runs.close();
    releaseIfOver(true);
  }

  private void releaseIfOver(boolean keeps) {
    if (!runs.end()) {
      return;
    }
    List<ProgramCache.Entry> over;
    synchronized (this) {
      over = List.copyOf(held.values());
      held.clear();
      latest = null;
    }
    kernels.release(over, keeps);
  }
}
