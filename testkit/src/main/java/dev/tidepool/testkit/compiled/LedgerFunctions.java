package dev.tidepool.testkit.compiled;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.List;

/**
 * Functions that each simulated library has, one method each: the number of calls of its functions,
 * the calls that shall fail, and the findings.
 */
public final class LedgerFunctions {
  private final MethodHandle reset;
  private final MethodHandle forget;
  private final MethodHandle fail;
  private final MethodHandle calls;
  private final MethodHandle report;

  /** Creates the functions of a library. */
  public LedgerFunctions(SymbolLookup library) {
    reset = handle(library, "reset", FunctionDescriptor.ofVoid(JAVA_INT));
    forget = handle(library, "forget", FunctionDescriptor.ofVoid());
    fail =
        handle(library, "fail", FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG, JAVA_INT, JAVA_LONG));
    calls = handle(library, "calls", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
    report =
        handle(library, "report", FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG));
  }

  /** Returns a control function, which the library exports with a prefix. */
  public static MethodHandle handle(
      SymbolLookup library, String name, FunctionDescriptor descriptor) {
    return Linker.nativeLinker()
        .downcallHandle(library.findOrThrow("tidepool_sim_" + name), descriptor);
  }

  /** Destroys all objects and starts again with a number of devices. */
  public void reset(int devices) {
    order(
        () -> {
          reset.invokeExact(devices);
        });
  }

  /** Clears counts, requested failures, violations and notes. */
  public void forget() {
    order(
        () -> {
          forget.invokeExact();
        });
  }

  /**
   * Makes calls of a function fail, a number of times from the nth on; a negative number means
   * always.
   */
  public void fail(String function, long nth, int code, long times) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom(function);
      order(
          () -> {
            fail.invokeExact(name, nth, code, times);
          });
    }
  }

  /** Returns how often a function was called. */
  public long calls(String function) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom(function);
      return (long) call(() -> (long) calls.invokeExact(name));
    }
  }

  /** Returns the lines of a report, which may grow while it is read. */
  public List<String> report(String which) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom(which);
      long size = 1 << 16;
      while (true) {
        MemorySegment buffer = arena.allocate(size, 1);
        long capacity = size;
        long length = (long) call(() -> (long) report.invokeExact(name, buffer, capacity));
        if (length < size) {
          return buffer.getString(0).lines().toList();
        }
        size = 2 * length;
      }
    }
  }

  /** A call with a result. */
  public interface Call<T> {
    T make() throws Throwable;
  }

  /** A call without a result. */
  public interface Order {
    void give() throws Throwable;
  }

  /** Calls a method handle. */
  public static void order(Order order) {
    call(
        () -> {
          order.give();
          return Boolean.TRUE;
        });
  }

  /** Calls a method handle and returns its result. */
  public static <T> T call(Call<T> call) {
    try {
      return call.make();
    } catch (RuntimeException | Error thrown) {
      throw thrown;
    } catch (Throwable thrown) {
      throw new IllegalStateException("the simulated library cannot be called", thrown);
    }
  }
}
