package dev.tidepool.metal;

import dev.tidepool.spi.Launch;
import dev.tidepool.spi.Program;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Code of one device, which knows how to pass arguments to it. Safe for use by any thread. The
 * owner closes it when no launch is running.
 */
abstract sealed class MetalProgram implements Program
    permits ElementwiseProgram, HandWrittenProgram, MethodProgram {
  private final CompiledKernel kernel;
  private final AtomicBoolean closed = new AtomicBoolean();

  MetalProgram(CompiledKernel kernel) {
    this.kernel = kernel;
  }

  final CompiledKernel kernel() {
    return kernel;
  }

  final boolean runsOn(MetalDevice device) {
    return kernel.device().handle() == device.handle();
  }

  /** Encodes all commands of a launch; the range has at least one item. */
  final void encode(Commands commands, Launch launch) {
    if (closed.get()) {
      throw new IllegalStateException(
          "kernel '" + kernel.entry() + "' is launched after its close");
    }
    try (KernelArguments arguments = new KernelArguments(commands)) {
      bind(arguments, launch);
    }
  }

  /** Adds the arguments and runs the kernel. */
  abstract void bind(KernelArguments arguments, Launch launch);

  @Override
  public final void close() {
    if (closed.compareAndSet(false, true)) {
      kernel.close();
    }
  }
}
