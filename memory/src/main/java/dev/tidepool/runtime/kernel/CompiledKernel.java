package dev.tidepool.runtime.kernel;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.runtime.buffer.BufferAllocator;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.threads.StackReserve;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A kernel of one manager: the user's handle to its {@link KernelPrograms}. */
final class CompiledKernel implements Kernel {
  private final StorageContext context;
  private final BufferAllocator allocator;
  private final KernelSource source;
  private final Signature signature;
  private final KernelPrograms programs;

  CompiledKernel(
      StorageContext context,
      BufferAllocator allocator,
      KernelSource source,
      Signature signature,
      KernelPrograms programs) {
    this.context = context;
    this.allocator = allocator;
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
    try (KernelRun run = begin();
        KernelLaunch launch = bind(run, arguments, asked)) {
      launch.perform();
    }
  }

  private CompletableFuture<Void> submit(Arguments arguments, @Nullable LaunchRange asked) {
    try (KernelRun run = begin();
        KernelLaunch launch = bind(run, arguments, asked)) {
      return launch.submit();
    }
  }

  private KernelRun begin() {
    return KernelRun.begin(context.state(), programs, this::closedException);
  }

  private KernelLaunch bind(KernelRun run, Arguments arguments, @Nullable LaunchRange asked) {
    Arguments named = arguments.isInOrder() ? signature.named(arguments) : arguments;
    return KernelLaunch.bind(context, allocator, run, signature, named, asked);
  }

  private IllegalStateException closedException() {
    return new IllegalStateException(this + " is closed; compile it again");
  }

  @Override
  public void close() {
    StackReserve.checkForTwo();
    programs.close();
  }

  @Override
  public String toString() {
    return "Kernel[" + source + " on " + context.accelerator().id() + "]";
  }
}
