package dev.tidepool.testkit.cuda;

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

/** The functions by which the simulated driver is steered, one method each. */
final class ControlFunctions {
  private final MethodHandle reset;
  private final MethodHandle forget;
  private final MethodHandle set;
  private final MethodHandle peer;
  private final MethodHandle fail;
  private final MethodHandle calls;
  private final MethodHandle report;

  ControlFunctions(SymbolLookup library) {
    reset = handle(library, "reset", FunctionDescriptor.ofVoid(JAVA_INT));
    forget = handle(library, "forget", FunctionDescriptor.ofVoid());
    set = handle(library, "set", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_LONG));
    peer = handle(library, "peer", FunctionDescriptor.ofVoid(JAVA_INT, JAVA_INT, JAVA_INT));
    fail =
        handle(library, "fail", FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG, JAVA_INT, JAVA_LONG));
    calls = handle(library, "calls", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
    report =
        handle(library, "report", FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG));
  }

  private static MethodHandle handle(
      SymbolLookup library, String name, FunctionDescriptor descriptor) {
    return Linker.nativeLinker()
        .downcallHandle(library.findOrThrow("tidepool_sim_" + name), descriptor);
  }

  void reset(int devices) {
    order(
        () -> {
          reset.invokeExact(devices);
        });
  }

  void forget() {
    order(
        () -> {
          forget.invokeExact();
        });
  }

  boolean set(int device, String setting, long value) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom(setting);
      return (int) call(() -> (int) set.invokeExact(device, name, value)) != 0;
    }
  }

  void peer(int from, int to, boolean reachable) {
    order(
        () -> {
          peer.invokeExact(from, to, reachable ? 1 : 0);
        });
  }

  void fail(String function, long nth, int code, long times) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom(function);
      order(
          () -> {
            fail.invokeExact(name, nth, code, times);
          });
    }
  }

  long calls(String function) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom(function);
      return (long) call(() -> (long) calls.invokeExact(name));
    }
  }

  /** The lines of a report; it may grow while it is read. */
  List<String> report(String which) {
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

  private interface Call<T> {
    T make() throws Throwable;
  }

  private interface Order {
    void give() throws Throwable;
  }

  private static void order(Order order) {
    call(
        () -> {
          order.give();
          return Boolean.TRUE;
        });
  }

  private static <T> T call(Call<T> call) {
    try {
      return call.make();
    } catch (RuntimeException | Error thrown) {
      throw thrown;
    } catch (Throwable thrown) {
      throw new IllegalStateException("the simulated driver cannot be called", thrown);
    }
  }
}
