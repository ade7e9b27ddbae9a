package dev.tidepool.opencl;

import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.Shutdown;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Code of one device, which knows how to pass arguments to it. Safe for use by any thread. The
 * owner closes it when no launch is running.
 */
abstract sealed class OpenClProgram implements Program
    permits HandWrittenProgram, ElementwiseProgram, MethodProgram {
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

  /** Enqueues all commands of a launch; the range has at least one item. */
  final void enqueue(Submission submission, Launch launch) {
    if (closed.get()) {
      throw new IllegalStateException("kernel '" + code.entry() + "' is launched after its close");
    }
    code.<Void>borrowed(
        kernel -> {
          try (KernelArguments bound =
              new KernelArguments(submission, code.device().properties(), kernel)) {
            launch(bound, launch);
            bound.copyBack();
          }
          return null;
        });
  }

  /** Binds the arguments and enqueues the kernel. */
  abstract void launch(KernelArguments bound, Launch launch);

  @Override
  public final void close() {
    if (closed.compareAndSet(false, true) && !Shutdown.hasBegun()) {
      code.close();
    }
  }
}
