package dev.tidepool.runtime.kernel;

import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.expression.types.Expression;
import dev.tidepool.runtime.buffer.BufferAllocator;
import dev.tidepool.runtime.order.Exceptions;
import dev.tidepool.runtime.storage.StorageContext;
import dev.tidepool.runtime.supply.SessionResources;
import dev.tidepool.runtime.threads.KernelThreads;
import dev.tidepool.spi.Program;
import dev.tidepool.spi.support.Closing;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * The programs of one manager, each compiled once for given types of parameters, and the kernels
 * that hold them.
 *
 * <p><b>Life of a program.</b> Kernels of equal sources share programs, which count their holders.
 * When the last kernel that holds a program is closed, the program is freed. When the last one
 * becomes unreachable instead, the program is kept for the next kernel of that source, unless it is
 * a Java body. Only the last {@value #MOST_IDLE} idle programs are kept. All others are freed with
 * the manager.
 *
 * <p><b>Threads.</b> The first thread that needs a program compiles it. Other threads that need the
 * same program wait for it and hold no lock. Compilation blocks a thread, so it runs on library
 * threads or the caller's platform thread. The monitor guards the tables and is not held during
 * compilation or release.
 */
public final class ProgramCache implements AutoCloseable {
  /** The maximum number of programs that are kept without a kernel. */
  static final int MOST_IDLE = 256;

  private record Key(KernelSource source, List<KernelParameter> parameters) {}

  /** A program and the number of kernels that hold it, which the monitor of the cache guards. */
  static final class Entry {
    private final Key key;
    private final CompletableFuture<Program> program = new CompletableFuture<>();
    private int holders;

    private Entry(Key key) {
      this.key = key;
    }

    /** Returns the program, once it is compiled. */
    Program program() {
      return program.resultNow();
    }
  }

  /** Reports that a kernel has become unreachable. */
  private static final class Handle extends PhantomReference<Kernel> {
    private final KernelPrograms programs;

    Handle(Kernel kernel, KernelPrograms programs, ReferenceQueue<Kernel> queue) {
      super(kernel, queue);
      this.programs = programs;
    }
  }

  private final StorageContext context;
  private final BufferAllocator allocator;
  private final SessionResources resources;
  private final ReferenceQueue<Kernel> unreachable = new ReferenceQueue<>();
  private final Map<KernelPrograms, Handle> handles = new ConcurrentHashMap<>();
  private final Map<RegisteredSources, Kernel> registered = new ConcurrentHashMap<>();
  private final Map<RegisteredSources, UnsupportedOperationException> refused =
      new ConcurrentHashMap<>();

  // Guarded by this. Idle entries are in both tables, the longest idle first.
  private final Map<Key, Entry> entries = new HashMap<>();
  private final Map<Key, Entry> idle = new LinkedHashMap<>();

  /**
   * Creates a cache without programs.
   *
   * @param allocator creates buffers for arguments that are elsewhere
   * @param resources records the programs
   */
  public ProgramCache(
      StorageContext context, BufferAllocator allocator, SessionResources resources) {
    this.context = context;
    this.allocator = allocator;
    this.resources = resources;
  }

  /** Returns a kernel. Compiles hand-written code and methods at once, and parses expressions. */
  public Kernel compile(KernelSource source) {
    releaseUnreachable();
    Signature signature =
        switch (source) {
          case KernelSource.HandWritten written -> DeclaredSignature.of(written);
          case KernelSource.Method method -> MethodSignature.of(method);
          case KernelSource.Elementwise elementwise ->
              new ElementwiseSignature(Expression.parse(elementwise.expression()));
        };
    KernelPrograms programs = new KernelPrograms(this, source);
    // The types of an expression are known only with its arguments.
    List<KernelParameter> declared = signature.declared();
    if (declared != null) {
      compileNow(programs, declared);
    }
    Kernel kernel = new CompiledKernel(context, allocator, source, signature, programs);
    handles.put(programs, new Handle(kernel, programs, unreachable));
    return kernel;
  }

  private void compileNow(KernelPrograms programs, List<KernelParameter> parameters) {
    if (!Thread.currentThread().isVirtual()) {
      var _ = programs.program(parameters);
      return;
    }
    try {
      CompletableFuture.runAsync(() -> programs.program(parameters), context.kernelThreads())
          .join();
    } catch (CompletionException e) {
      throw Exceptions.unchecked(e.getCause() == null ? e : e.getCause());
    }
  }

  /** Returns the kernel that an orchestrator has compiled here; null if there is none. */
  public @Nullable Kernel of(RegisteredSources sources) {
    return registered.get(sources);
  }

  /** Keeps an orchestrator's kernel until the manager ends; returns the one that was kept first. */
  public Kernel keep(RegisteredSources sources, Kernel kernel) {
    Kernel earlier = registered.putIfAbsent(sources, kernel);
    if (earlier == null) {
      return kernel;
    }
    kernel.close();
    return earlier;
  }

  /** Returns why no source of an orchestrator's kernel runs here; null if that is unknown. */
  public @Nullable UnsupportedOperationException refusal(RegisteredSources sources) {
    return refused.get(sources);
  }

  /** Keeps the reason until the manager ends, so that no launch translates the sources again. */
  public void keep(RegisteredSources sources, UnsupportedOperationException refusal) {
    refused.putIfAbsent(sources, refusal);
  }

  /**
   * Holds the program of a source for parameters until {@link #release}; blocks during its
   * compilation.
   */
  Entry hold(KernelSource source, List<KernelParameter> parameters) {
    Key key = new Key(source, parameters);
    Entry entry;
    boolean isMine;
    synchronized (this) {
      Entry known = entries.get(key);
      isMine = known == null;
      entry = known == null ? new Entry(key) : known;
      entry.holders++;
      if (isMine) {
        entries.put(key, entry);
      } else {
        idle.remove(key);
      }
    }
    if (isMine) {
      compile(entry);
    }
    try {
      KernelThreads.join(entry.program);
      return entry;
    } catch (CompletionException e) {
      throw Exceptions.unchecked(e.getCause() == null ? e : e.getCause());
    }
  }

  private void compile(Entry entry) {
    try {
      Program program = context.device().compile(entry.key.source(), entry.key.parameters());
      resources.opened(program);
      entry.program.complete(program);
    } catch (Throwable e) {
      // Forget the failure: a later attempt may succeed if memory was short or the device was lost.
      synchronized (this) {
        entries.remove(entry.key, entry);
      }
      entry.program.completeExceptionally(e);
    }
  }

  /**
   * Releases programs that a kernel holds.
   *
   * @param keeps whether a program that no kernel holds is kept for the next kernel of its source
   */
  void release(List<Entry> held, boolean keeps) {
    // A manager that has ended has freed all programs.
    context.state().beforeEnd(() -> released(held, keeps).forEach(this::free));
  }

  private synchronized List<Entry> released(List<Entry> held, boolean keeps) {
    List<Entry> freed = new ArrayList<>();
    for (Entry entry : held) {
      if (--entry.holders > 0) {
        continue;
      }
      // Keeping a Java body saves no compilation, and it may refer to many objects.
      if (keeps && !(entry.key.source() instanceof KernelSource.Java)) {
        idle.put(entry.key, entry);
      } else {
        entries.remove(entry.key);
        freed.add(entry);
      }
    }
    Iterator<Entry> longest = idle.values().iterator();
    while (idle.size() > MOST_IDLE) {
      Entry entry = longest.next();
      longest.remove();
      entries.remove(entry.key);
      freed.add(entry);
    }
    return freed;
  }

  private void free(Entry entry) {
    Closing.surviving("a program", () -> resources.close(entry.program()));
  }

  /** Stops observing a kernel that was closed. */
  void forget(KernelPrograms programs) {
    Handle handle = handles.remove(programs);
    if (handle != null) {
      handle.clear();
    }
  }

  /** Releases the programs of kernels that became unreachable without being closed. */
  public void releaseUnreachable() {
    Handle handle = (Handle) unreachable.poll();
    while (handle != null) {
      handles.remove(handle.programs);
      handle.programs.abandon();
      handle = (Handle) unreachable.poll();
    }
  }

  /** Frees all programs. Nothing runs any more. */
  @Override
  public void close() {
    List<Entry> left;
    synchronized (this) {
      left = List.copyOf(entries.values());
      entries.clear();
      idle.clear();
    }
    left.stream()
        .filter(entry -> entry.program.state() == Future.State.SUCCESS)
        .forEach(this::free);
    registered.clear();
    refused.clear();
    handles.clear();
  }
}
