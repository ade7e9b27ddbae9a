package dev.tidepool.opencl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.tidepool.host.system.Platform;
import dev.tidepool.spi.support.DriverCall;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Preserves the process's signal handlers, as the virtual machine set them, while a driver is
 * loaded. Drivers install handlers of their own (PoCL one for SIGFPE), but the virtual machine
 * relies on its own: compiled Java code that divides by zero expects SIGFPE to become an {@code
 * ArithmeticException}, and continues with garbage if a driver's handler returns instead.
 *
 * <p>Handlers belong to the process, so one thread at a time saves and restores them. On a system
 * without {@code sigaction} (Windows, where no driver can replace the virtual machine's exception
 * filters this way) nothing needs to be preserved.
 */
final class SignalHandlers {
  /** The standard signals; drivers and the virtual machine use no real-time ones. */
  private static final Optional<Platform.Signals> SIGNALS = Platform.CURRENT.signals();

  private static final Optional<MethodHandle> SIGACTION = link();

  private SignalHandlers() {}

  /** Runs the action, then restores every handler that it replaced. */
  static synchronized <T> T preserving(Supplier<T> action) {
    if (SIGACTION.isEmpty() || SIGNALS.isEmpty()) {
      return action.get();
    }
    MethodHandle sigaction = SIGACTION.get();
    Platform.Signals signals = SIGNALS.get();
    try (Arena arena = Arena.ofConfined()) {
      List<MemorySegment> saved = new ArrayList<>();
      for (int signal = 1; signal <= signals.last(); signal++) {
        MemorySegment old = arena.allocate(signals.actionBytes(), 16);
        saved.add(read(sigaction, signal, old) ? old : MemorySegment.NULL);
      }
      try {
        return action.get();
      } finally {
        MemorySegment now = arena.allocate(signals.actionBytes(), 16);
        for (int signal = 1; signal <= signals.last(); signal++) {
          MemorySegment old = saved.get(signal - 1);
          if (old.address() != 0
              && read(sigaction, signal, now)
              && differ(old, now, signals.comparedBytes())) {
            set(sigaction, signal, old);
          }
        }
      }
    }
  }

  // The handler and its mask come first on every system; the padding after them holds stack
  // garbage.
  private static boolean differ(MemorySegment one, MemorySegment other, long bytes) {
    return MemorySegment.mismatch(one, 0, bytes, other, 0, bytes) >= 0;
  }

  private static Optional<MethodHandle> link() {
    FunctionDescriptor sigaction = FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
    try {
      Linker linker = Linker.nativeLinker();
      return linker
          .defaultLookup()
          .find("sigaction")
          .map(address -> linker.downcallHandle(address, sigaction));
    } catch (IllegalCallerException | UnsupportedOperationException denied) {
      // Without native calls no driver is loaded either, and discovery says so.
      return Optional.empty();
    }
  }

  private static boolean read(MethodHandle sigaction, int signal, MemorySegment action) {
    return invoke(sigaction, signal, MemorySegment.NULL, action) == 0;
  }

  private static void set(MethodHandle sigaction, int signal, MemorySegment action) {
    if (invoke(sigaction, signal, action, MemorySegment.NULL) != 0) {
      System.getLogger(SignalHandlers.class.getName())
          .log(
              System.Logger.Level.WARNING,
              "an OpenCL driver replaced the handler of signal {0}, and it cannot be put back",
              signal);
    }
  }

  private static int invoke(
      MethodHandle sigaction, int signal, MemorySegment action, MemorySegment old) {
    try {
      return (int) sigaction.invokeExact(signal, action, old);
    } catch (Throwable unexpected) {
      throw DriverCall.unexpected("sigaction", unexpected);
    }
  }
}
