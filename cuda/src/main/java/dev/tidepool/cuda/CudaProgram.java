package dev.tidepool.cuda;

import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Code of one device, which knows how to pass arguments to it. Safe for use by any thread. The
 * owner closes it when no launch is running.
 */
abstract sealed class CudaProgram implements Program
    permits ElementwiseProgram, HandWrittenProgram, MethodProgram {
  private final LoadedKernel kernel;
  private final AtomicBoolean closed = new AtomicBoolean();

  CudaProgram(LoadedKernel kernel) {
    this.kernel = kernel;
  }

  final LoadedKernel kernel() {
    return kernel;
  }

  final boolean runsOn(CudaDevice device) {
    return kernel.device().context().handle() == device.context().handle();
  }

  /**
   * Submits all commands of a launch; the range has an item, and the device's context is current.
   */
  final void launch(long stream, Submission submission, Launch launch) {
    if (closed.get()) {
      throw new IllegalStateException(
          "kernel '" + kernel.entry() + "' is launched after its close");
    }
    try (KernelArguments arguments =
        new KernelArguments(kernel.device(), stream, submission, overread())) {
      bind(arguments, launch);
    }
  }

  /**
   * Returns how many bytes after a value the kernel may read; 0 if its parameters are as declared.
   */
  long overread() {
    return 0;
  }

  /** Passes the arguments and runs the kernel. */
  abstract void bind(KernelArguments arguments, Launch launch);

  @Override
  public final void close() {
    if (closed.compareAndSet(false, true)) {
      kernel.close();
    }
  }
}
