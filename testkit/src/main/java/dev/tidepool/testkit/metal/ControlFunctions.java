package dev.tidepool.testkit.metal;

import static dev.tidepool.testkit.compiled.LedgerFunctions.call;
import static dev.tidepool.testkit.compiled.LedgerFunctions.handle;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.List;

/** The functions that control the simulated Metal's devices, one method each. */
final class ControlFunctions {
  private static final int MOST_TEXT = 1 << 20;

  private final MethodHandle set;
  private final MethodHandle methods;

  ControlFunctions(SymbolLookup library) {
    set = handle(library, "set", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_LONG));
    methods = handle(library, "methods", FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG));
  }

  boolean set(int device, String setting, long value) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom(setting);
      return (int) call(() -> (int) set.invokeExact(device, name, value)) != 0;
    }
  }

  /** Returns every method: its class, selector, result and arguments. */
  List<String> methods() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment buffer = arena.allocate(MOST_TEXT, 1);
      long length = (long) call(() -> (long) methods.invokeExact(buffer, (long) MOST_TEXT));
      if (length >= MOST_TEXT) {
        throw new IllegalStateException("%s bytes about methods".formatted(length));
      }
      return buffer.getString(0).lines().toList();
    }
  }
}
