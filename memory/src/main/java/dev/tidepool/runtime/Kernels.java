package dev.tidepool.runtime;

import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.expression.Expression;
import dev.tidepool.spi.Program;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * The programs of one manager, each compiled once for given types of parameters.
 *
 * <p>Who comes first compiles; others that need the same program wait for it, holding no lock.
 * Compilation blocks a thread, so it happens on library threads or the caller's platform thread.
 */
final class Kernels implements AutoCloseable {
  private record Key(KernelSource source, List<KernelParameter> parameters) {}

  /** What was asked for, by identity, and what came of it. */
  private record Answer(KernelSource source, List<KernelParameter> parameters, Program program) {
    // Not being the same costs a look-up in the table, nothing more.
    @SuppressWarnings("ReferenceEquality")
    boolean isFor(KernelSource asked, List<KernelParameter> with) {
      return source == asked && parameters == with;
    }
  }

  private final AcceleratorMemory memory;
  private final ConcurrentHashMap<Key, CompletableFuture<Program>> programs =
      new ConcurrentHashMap<>();

  /**
   * Launches of one kernel in a row ask the same; to hash all of a key costs more than the rest.
   */
  private volatile @Nullable Answer latest;

  Kernels(AcceleratorMemory memory) {
    this.memory = memory;
  }

  /** A kernel; hand-written code is compiled at once, expressions are parsed. */
  Kernel compile(KernelSource source) {
    if (source instanceof KernelSource.HandWritten written) {
      compileNow(source, written.parameters());
      return new BoundKernel(memory, source, new DeclaredSignature(written));
    }
    KernelSource.Elementwise elementwise = (KernelSource.Elementwise) source;
    return new BoundKernel(
        memory, source, new ElementwiseSignature(Expression.parse(elementwise.expression())));
  }

  private void compileNow(KernelSource source, List<KernelParameter> parameters) {
    if (!Thread.currentThread().isVirtual()) {
      program(source, parameters);
      return;
    }
    try {
      CompletableFuture.runAsync(() -> program(source, parameters), memory.kernelThreads()).join();
    } catch (CompletionException e) {
      throw Failures.unchecked(e.getCause() == null ? e : e.getCause());
    }
  }

  /** The program of a source for parameters; blocks while it is compiled. */
  Program program(KernelSource source, List<KernelParameter> parameters) {
    Answer answer = latest;
    if (answer == null || !answer.isFor(source, parameters)) {
      answer = new Answer(source, parameters, find(source, parameters));
      latest = answer;
    }
    return answer.program();
  }

  private Program find(KernelSource source, List<KernelParameter> parameters) {
    Key key = new Key(source, parameters);
    CompletableFuture<Program> known = programs.get(key);
    if (known == null) {
      CompletableFuture<Program> mine = new CompletableFuture<>();
      known = programs.putIfAbsent(key, mine);
      if (known == null) {
        known = mine;
        try {
          mine.complete(memory.device().compile(source, parameters));
        } catch (RuntimeException | Error e) {
          // What failed for want of memory or a lost device may go well another time.
          programs.remove(key, mine);
          mine.completeExceptionally(e);
        }
      }
    }
    try {
      return known.join();
    } catch (CompletionException e) {
      throw Failures.unchecked(e.getCause() == null ? e : e.getCause());
    }
  }

  @Override
  public void close() {
    for (CompletableFuture<Program> program : programs.values()) {
      if (program.state() == Future.State.SUCCESS) {
        Closing.quietly("a program", program.resultNow());
      }
    }
    programs.clear();
    latest = null;
  }
}
