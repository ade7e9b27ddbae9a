package dev.tidepool.opencl;

import dev.tidepool.LaunchRange;
import dev.tidepool.spi.KernelArgument;
import dev.tidepool.spi.Program;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Code of one device and the knowledge how arguments are handed to it. Safe for use by any thread;
 * closing it is the owner's, when no launch is under way.
 */
abstract sealed class OpenClProgram implements Program
    permits HandWrittenProgram, ElementwiseProgram {
  private final CompiledKernel code;
  private final AtomicBoolean closed = new AtomicBoolean();

  OpenClProgram(CompiledKernel code) {
    this.code = code;
  }

  final CompiledKernel code() {
    return code;
  }

  final boolean runsOn(OpenClDevice device) {
    return code.device().context() == device.context()
        && code.device().properties().handle() == device.properties().handle();
  }

  /** Enqueues everything that a launch needs; the range has at least one item. */
  final void enqueue(Submission submission, List<KernelArgument> arguments, LaunchRange range) {
    if (closed.get()) {
      throw new IllegalStateException("kernel '" + code.entry() + "' is launched after its close");
    }
    long kernel = code.borrow();
    try (KernelArguments bound =
        new KernelArguments(submission, code.device().properties(), kernel)) {
      launch(bound, arguments, range);
      bound.copyBack();
    } finally {
      code.giveBack(kernel);
    }
  }

  /** Binds the arguments and enqueues the kernel. */
  abstract void launch(KernelArguments bound, List<KernelArgument> arguments, LaunchRange range);

  final IllegalArgumentException wrongCount(int expected, int given) {
    return new IllegalArgumentException(
        "kernel '" + code.entry() + "' takes " + expected + " arguments, not " + given);
  }

  @Override
  public final void close() {
    if (closed.compareAndSet(false, true) && !Shutdown.hasBegun()) {
      code.close();
    }
  }
}
