package dev.tidepool.runtime.session;

import static java.util.stream.Collectors.joining;

import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.ComputeOrchestrator;
import dev.tidepool.ExecutionOptions;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.runtime.buffer.BufferHandle;
import dev.tidepool.runtime.kernel.FileKernels;
import dev.tidepool.runtime.kernel.RegisteredSources;
import dev.tidepool.runtime.storage.StorageContext;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Registers kernels by name and runs each where the most bytes of its buffers are. */
final class Orchestrator implements ComputeOrchestrator {
  private record Placed(Kernel kernel, DeviceMemoryManager memory) {}

  private final RuntimeSession session;
  private final Map<String, RegisteredSources> registered = new ConcurrentHashMap<>();

  Orchestrator(RuntimeSession session) {
    this.session = session;
  }

  @Override
  public void register(String name, KernelSource... alternatives) {
    Objects.requireNonNull(name, "name");
    List<KernelSource> given = List.of(alternatives);
    if (given.isEmpty()) {
      throw new IllegalArgumentException("kernel '" + name + "' has no source");
    }
    for (KernelSource source : given) {
      if (source instanceof KernelSource.Elementwise(String expression)) {
        var _ = Expression.parse(expression);
      }
    }
    if (registered.putIfAbsent(name, new RegisteredSources(given)) != null) {
      throw new IllegalArgumentException(
          "a kernel is called '" + name + "' already; choose another name");
    }
  }

  @Override
  public Set<String> names() {
    return new TreeSet<>(registered.keySet());
  }

  @Override
  public void execute(String name, Arguments arguments) {
    execute(name, arguments, ExecutionOptions.defaults());
  }

  @Override
  public void execute(String name, Arguments arguments, ExecutionOptions options) {
    Placed placed = place(name, arguments, options);
    if (options.isStreamed() || FileKernels.areNeededBy(arguments)) {
      stream(placed, arguments, options);
      return;
    }
    options
        .range()
        .ifPresentOrElse(
            range -> placed.kernel().execute(arguments, range),
            () -> placed.kernel().execute(arguments));
  }

  @Override
  public CompletableFuture<Void> executeAsync(String name, Arguments arguments) {
    return executeAsync(name, arguments, ExecutionOptions.defaults());
  }

  @Override
  public CompletableFuture<Void> executeAsync(
      String name, Arguments arguments, ExecutionOptions options) {
    Placed placed = place(name, arguments, options);
    if (options.isStreamed() || FileKernels.areNeededBy(arguments)) {
      return CompletableFuture.runAsync(
          () -> stream(placed, arguments, options),
          work -> Thread.ofPlatform().name("tidepool-stream").daemon().start(work));
    }
    return options
        .range()
        .map(range -> placed.kernel().executeAsync(arguments, range))
        .orElseGet(() -> placed.kernel().executeAsync(arguments));
  }

  private static void stream(Placed placed, Arguments arguments, ExecutionOptions options) {
    if (options.range().isPresent()) {
      throw new IllegalArgumentException(
          "a kernel that is streamed runs over one item for each element and takes no range");
    }
    FileKernels.installed().execute(placed.kernel().source(), arguments, placed.memory(), options);
  }

  private Placed place(String name, Arguments arguments, ExecutionOptions options) {
    RegisteredSources known = registered.get(name);
    if (known == null) {
      throw new IllegalArgumentException(
          "no kernel is called '"
              + name
              + (registered.isEmpty()
                  ? "'; none is registered: call register first"
                  : "'; registered are " + names()));
    }
    if (options.accelerator().isPresent()) {
      Placed there = placedOn(options.accelerator().get(), name, known, options.preferred());
      if (there != null) {
        return there;
      }
    }
    DeviceMemoryManager home = home(arguments);
    if (home != null) {
      return placed(name, known, home);
    }
    List<UnsupportedOperationException> refused = new ArrayList<>();
    for (Accelerator accelerator : session.byPreference()) {
      try {
        return placed(name, known, session.memory(accelerator));
      } catch (UnsupportedOperationException e) {
        refused.add(e);
      }
    }
    // Not empty, because the CPU is always present.
    String reasons = refused.stream().map(e -> "\n" + e.getMessage()).collect(joining());
    UnsupportedOperationException none =
        new UnsupportedOperationException("no accelerator runs kernel '" + name + "'" + reasons);
    refused.forEach(none::addSuppressed);
    throw none;
  }

  /** Returns the kernel on an accelerator, or null if a preferred accelerator cannot run it. */
  private @Nullable Placed placedOn(
      String wanted, String name, RegisteredSources known, boolean preferred) {
    Accelerator accelerator;
    try {
      accelerator = session.accelerator(wanted);
    } catch (IllegalArgumentException e) {
      if (preferred) {
        return null;
      }
      throw e;
    }
    try {
      return placed(name, known, session.memory(accelerator));
    } catch (UnsupportedOperationException e) {
      if (preferred) {
        return null;
      }
      throw e;
    }
  }

  private Placed placed(String name, RegisteredSources registered, DeviceMemoryManager memory) {
    return new Placed(kernel(name, registered, memory), memory);
  }

  private Kernel kernel(String name, RegisteredSources registered, DeviceMemoryManager memory) {
    // The manager keeps the kernels and closes them when it closes.
    Kernel known = memory.kernels().of(registered);
    if (known != null) {
      return known;
    }
    UnsupportedOperationException refused = memory.kernels().refusal(registered);
    if (refused == null) {
      List<KernelSource> sources = registered.alternatives();
      KernelSource[] others = sources.subList(1, sources.size()).toArray(KernelSource[]::new);
      try {
        return memory.kernels().keep(registered, memory.compile(sources.getFirst(), others));
      } catch (UnsupportedOperationException e) {
        memory.kernels().keep(registered, e);
        refused = e;
      }
    }
    throw new UnsupportedOperationException(
        "kernel '" + name + "': " + refused.getMessage(), refused);
  }

  /**
   * Returns the manager of this session that holds the most bytes of the buffers, or null if all
   * buffers belong to other sessions or libraries.
   */
  private @Nullable DeviceMemoryManager home(Arguments arguments) {
    Map<DeviceMemoryManager, Long> bytes = new LinkedHashMap<>();
    for (Object value : arguments.values().values()) {
      if (value instanceof BufferHandle<?> buffer) {
        StorageContext context = buffer.storage().context();
        if (context.session().equals(session)) {
          bytes.merge((DeviceMemoryManager) context.manager(), buffer.bytes(), Long::sum);
        }
      }
    }
    return bytes.entrySet().stream()
        .max(Map.Entry.comparingByValue())
        .map(Map.Entry::getKey)
        .orElse(null);
  }

  @Override
  public String toString() {
    return "ComputeOrchestrator" + names();
  }
}
