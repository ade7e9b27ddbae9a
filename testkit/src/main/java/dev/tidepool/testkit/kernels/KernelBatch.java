package dev.tidepool.testkit.kernels;

import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Compares random kernels of one class on an accelerator with the same kernels in plain Java. */
public final class KernelBatch {
  private final List<KernelBody> bodies;
  private final KernelClass compiled;
  private int faulting;

  private KernelBatch(List<KernelBody> bodies) {
    this.bodies = bodies;
    this.compiled = KernelClass.compile(KernelClass.source(bodies));
  }

  /** Returns kernels of consecutive seeds, with all types. */
  public static KernelBatch of(long firstSeed, int count) {
    return of(firstSeed, count, Kinds.ALL);
  }

  /** Returns kernels of consecutive seeds. */
  public static KernelBatch of(long firstSeed, int count, Kinds kinds) {
    List<KernelBody> bodies = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      bodies.add(KernelBody.of(firstSeed + i, Set.of(), kinds));
    }
    return new KernelBatch(bodies);
  }

  /** Returns a batch of one kernel. */
  static KernelBatch of(KernelBody body) {
    return new KernelBatch(List.of(body));
  }

  /** Returns one kernel that calls any of them: an argument in front of the others selects one. */
  public KernelSource.Method together() {
    return KernelSource.method(compiled.lookup(), KernelClass.ALL);
  }

  /** Returns how many kernels of the last run threw for an item. */
  public int faulting() {
    return faulting;
  }

  /**
   * Runs all kernels.
   *
   * @param together whether the kernels are one program; if not, each also runs as a {@link
   *     HoistedKernel}
   * @return the wrong ones
   */
  public List<Mismatch> run(UnifiedMemoryManager memory, boolean together) {
    List<Mismatch> mismatches = new ArrayList<>();
    faulting = 0;
    @Nullable Kernel all = together ? memory.compile(together()) : null;
    for (int i = 0; i < bodies.size(); i++) {
      KernelBody body = bodies.get(i);
      Object[] arguments = KernelData.of(body);
      Object[] expected = KernelData.copy(arguments);
      List<Throwable> faults = plainly(body, expected);
      faulting += faults.isEmpty() ? 0 : 1;
      Plain plain = new Plain(body, List.of(expected), faults);
      Object[] actual = KernelData.copy(arguments);
      if (all != null) {
        List<Object> which = List.of(i);
        mismatch(plain, actual, () -> body.execute(all, memory, which, actual))
            .ifPresent(mismatches::add);
        continue;
      }
      KernelSource.Method source = KernelSource.method(compiled.lookup(), body.method());
      mismatch(plain, actual, () -> body.execute(memory.compile(source), memory, List.of(), actual))
          .or(() -> mismatchOfHoisted(plain, source, arguments))
          .ifPresent(mismatches::add);
    }
    return mismatches;
  }

  private Optional<Mismatch> mismatchOfHoisted(
      Plain plain, KernelSource.Method source, Object[] arguments) {
    return HoistedKernel.of(source)
        .flatMap(
            kernel ->
                mismatch(
                    plain,
                    arguments,
                    () -> kernel.run(arguments, plain.body().index().range().launch())))
        .map(found -> new Mismatch(found.seed(), "hoisted, " + found.what(), found.cause()));
  }

  /** The arguments after calls of a method, and the exceptions of items. */
  private record Plain(KernelBody body, List<Object> arguments, List<Throwable> faults) {}

  /** Runs a kernel, and compares its arguments or exception with the expected ones. */
  private Optional<Mismatch> mismatch(Plain plain, Object[] arguments, Runnable kernel) {
    List<Throwable> faults = plain.faults();
    try {
      kernel.run();
      String wrong =
          faults.isEmpty()
              ? KernelData.difference(plain.body(), plain.arguments().toArray(), arguments)
              : "it does not throw " + faults.getFirst();
      return wrong.isEmpty()
          ? Optional.empty()
          : Optional.of(new Mismatch(plain.body().seed(), wrong, null));
    } catch (RuntimeException thrown) {
      Class<?> owner = compiled.lookup().lookupClass();
      if (faults.stream().anyMatch(fault -> Mismatch.isSameFault(fault, thrown, owner))) {
        return Optional.empty();
      }
      String instead = faults.isEmpty() ? "" : " instead of one of " + faults;
      // The message for an invalid class file contains the whole class.
      String shown = thrown.toString().lines().findFirst().orElse("");
      return Optional.of(new Mismatch(plain.body().seed(), "it throws " + shown + instead, thrown));
    }
  }

  /** Calls the method for each item; returns the exceptions of items. */
  private List<Throwable> plainly(KernelBody body, Object[] arguments) {
    List<Throwable> faults = new ArrayList<>();
    Method method = compiled.method(body.method());
    Class<?> first = method.getParameterTypes()[0];
    Object[] all = new Object[arguments.length + 1];
    System.arraycopy(arguments, 0, all, 1, arguments.length);
    for (RangeItem item : body.index().range().items()) {
      if (first == int.class) {
        all[0] = (int) item.globalId(0);
      } else {
        all[0] = first == long.class ? (Object) item.globalId(0) : item;
      }
      try {
        method.invoke(null, all);
      } catch (InvocationTargetException e) {
        Throwable cause = e.getCause();
        if (!(cause instanceof ArithmeticException)
            && !(cause instanceof ArrayIndexOutOfBoundsException)) {
          throw new IllegalStateException("kernels throw nothing else", cause);
        }
        faults.add(cause);
      } catch (IllegalAccessException e) {
        throw new LinkageError("the method was made accessible", e);
      }
    }
    return faults;
  }
}
