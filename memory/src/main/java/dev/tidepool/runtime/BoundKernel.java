package dev.tidepool.runtime;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A kernel of one manager: the user's handle of its {@link HeldPrograms}. */
final class BoundKernel implements Kernel {
  private final StorageContext memory;
  private final Allocations allocations;
  private final KernelSource source;
  private final Signature signature;
  private final HeldPrograms programs;

  BoundKernel(
      StorageContext memory,
      Allocations allocations,
      KernelSource source,
      Signature signature,
      HeldPrograms programs) {
    this.memory = memory;
    this.allocations = allocations;
    this.source = source;
    this.signature = signature;
    this.programs = programs;
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
    Run run = Run.begin(memory.state(), programs, this::closedException);
    try {
      List<KernelParameter> parameters = signature.parameters(arguments);
      return Execution.bind(memory, allocations, run, signature, parameters, arguments, asked);
    } catch (RuntimeException | Error e) {
      run.end();
      throw e;
    }
  }

  private IllegalStateException closedException() {
    return new IllegalStateException(this + " is closed; compile it again");
  }

  @Override
  public void close() {
    programs.close();
  }

  @Override
  public String toString() {
    return "Kernel[" + source + " on " + memory.accelerator().id() + "]";
  }
}
