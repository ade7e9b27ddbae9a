package dev.tidepool.runtime;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
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
    perform(arguments, null);
  }

  @Override
  public void execute(Arguments arguments, LaunchRange range) {
    perform(arguments, range);
  }

  @Override
  public CompletableFuture<Void> executeAsync(Arguments arguments) {
    return submit(arguments, null);
  }

  @Override
  public CompletableFuture<Void> executeAsync(Arguments arguments, LaunchRange range) {
    return submit(arguments, range);
  }

  private void perform(Arguments arguments, @Nullable LaunchRange asked) {
    try (Run run = begin();
        Execution execution = bind(run, arguments, asked)) {
      execution.perform();
    }
  }

  private CompletableFuture<Void> submit(Arguments arguments, @Nullable LaunchRange asked) {
    try (Run run = begin();
        Execution execution = bind(run, arguments, asked)) {
      return execution.submit();
    }
  }

  private Run begin() {
    return Run.begin(memory.state(), programs, this::closedException);
  }

  private Execution bind(Run run, Arguments arguments, @Nullable LaunchRange asked) {
    return Execution.bind(
        memory, allocations, run, signature, signature.parameters(arguments), arguments, asked);
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
