package dev.tidepool.spi.support;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.Optional;

/**
 * A native library, which may be absent. Then {@link #lookup} is empty and {@link #absence} gives
 * the reason. A missing function is linked to a handle that throws, so that classes with {@code
 * static final} handles load on every machine.
 *
 * @param name the name in messages
 * @param lookup the symbols; empty if the library could not be opened
 * @param absence the reason why it could not be opened; empty if it could
 */
public record NativeLibrary(String name, Optional<SymbolLookup> lookup, String absence) {
  /** Returns a library that cannot be used, with the reason. */
  public static NativeLibrary absent(String name, String why) {
    return new NativeLibrary(name, Optional.empty(), why);
  }

  /**
   * Opens the first library of some names or files that exists.
   *
   * @param advice what the user can do if none exists
   */
  public static NativeLibrary open(String name, List<String> candidates, String advice) {
    for (String candidate : candidates) {
      try {
        // Never unloaded, because drivers start threads that would then run unmapped code.
        return new NativeLibrary(
            name, Optional.of(SymbolLookup.libraryLookup(candidate, Arena.global())), "");
      } catch (IllegalArgumentException notFound) {
        // The next one may exist. If none does, the note below lists them all.
      } catch (IllegalCallerException denied) {
        return absent(
            name,
            "native access is denied to this module; run Java with"
                + " --enable-native-access=dev.tidepool.memory (on the class path: ALL-UNNAMED)");
      }
    }
    String tried = candidates.isEmpty() ? "" : " (tried " + String.join(", ", candidates) + ")";
    return absent(name, "no " + name + tried + "; " + advice);
  }

  /** Returns whether the library was opened. */
  public boolean isPresent() {
    return lookup.isPresent();
  }

  public boolean has(String function) {
    return lookup.flatMap(symbols -> symbols.find(function)).isPresent();
  }

  /** Links a function that returns an {@code int}, as most functions of CUDA do. */
  public MethodHandle code(String function, MemoryLayout... parameters) {
    return link(function, FunctionDescriptor.of(JAVA_INT, parameters));
  }

  /**
   * Links a function. If the library or the function is absent, returns a handle that throws an
   * exception with the reason.
   */
  public MethodHandle link(String function, FunctionDescriptor descriptor) {
    Optional<MemorySegment> address = lookup.flatMap(symbols -> symbols.find(function));
    if (address.isPresent()) {
      return Linker.nativeLinker().downcallHandle(address.get(), descriptor);
    }
    var type = descriptor.toMethodType();
    String why = absence.isEmpty() ? "this " + name + " has no " + function : absence;
    MethodHandle thrower =
        MethodHandles.throwException(type.returnType(), UnsupportedOperationException.class)
            .bindTo(new UnsupportedOperationException(why));
    return MethodHandles.dropArguments(thrower, 0, type.parameterList());
  }
}
