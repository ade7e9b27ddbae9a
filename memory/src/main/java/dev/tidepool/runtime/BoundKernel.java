package dev.tidepool.runtime;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A kernel of one manager. */
final class BoundKernel implements Kernel {
  private final AcceleratorMemory memory;
  private final KernelSource source;
  private final Signature signature;

  BoundKernel(AcceleratorMemory memory, KernelSource source, Signature signature) {
    this.memory = memory;
    this.source = source;
    this.signature = signature;
  }

  @Override
  public KernelSource source() {
    return source;
  }

  @Override
  public void execute(Arguments arguments) {
    bind(arguments, null).perform();
  }

  @Override
  public void execute(Arguments arguments, LaunchRange range) {
    bind(arguments, range).perform();
  }

  @Override
  public CompletableFuture<Void> executeAsync(Arguments arguments) {
    return bind(arguments, null).submit();
  }

  @Override
  public CompletableFuture<Void> executeAsync(Arguments arguments, LaunchRange range) {
    return bind(arguments, range).submit();
  }

  private Execution bind(Arguments arguments, @Nullable LaunchRange asked) {
    memory.checkOpen();
    List<KernelParameter> parameters = signature.parameters(arguments);
    return Execution.bind(memory, source, signature, parameters, arguments, asked);
  }

  @Override
  public String toString() {
    return "Kernel[" + source + " on " + memory.accelerator().id() + "]";
  }
}
