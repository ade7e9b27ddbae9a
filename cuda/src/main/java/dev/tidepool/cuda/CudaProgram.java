package dev.tidepool.cuda;

import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Code of one device and the knowledge how arguments are handed to it. Safe for use by any thread;
 * closing it is the owner's, when no launch is under way.
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

  /** Submits all that a launch needs; the range has an item, the device's context is current. */
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

  /** Bytes that the kernel may read behind a value; 0 where its parameters are as declared. */
  long overread() {
    return 0;
  }

  /** Hands the arguments over and runs the kernel. */
  abstract void bind(KernelArguments arguments, Launch launch);

  @Override
  public final void close() {
    if (closed.compareAndSet(false, true)) {
      kernel.close();
    }
  }
}
