package dev.tidepool.testkit.cuda;

import static dev.tidepool.testkit.compiled.LedgerFunctions.call;
import static dev.tidepool.testkit.compiled.LedgerFunctions.handle;
import static dev.tidepool.testkit.compiled.LedgerFunctions.order;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/** The functions that control the simulated driver's devices, one method each. */
final class ControlFunctions {
  private final MethodHandle set;
  private final MethodHandle peer;
  private final MethodHandle header;

  ControlFunctions(SymbolLookup library) {
    set = handle(library, "set", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_LONG));
    peer = handle(library, "peer", FunctionDescriptor.ofVoid(JAVA_INT, JAVA_INT, JAVA_INT));
    header = handle(library, "header", FunctionDescriptor.of(JAVA_INT));
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

  int header() {
    return (int) call(() -> (int) header.invokeExact());
  }
}
