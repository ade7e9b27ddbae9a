package dev.tidepool.opencl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.host.system.OperatingSystem;
import dev.tidepool.host.system.Platform;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.Optional;

/**
 * Finds the system's OpenCL loader and links its functions. An absent library is a value: {@link
 * #lookup} is empty and {@link #absence} says why. A function that the library lacks links to a
 * handle that throws, so classes with {@code static final} handles load on every machine.
 *
 * @param lookup the library's symbols, if it could be opened
 * @param absence why it could not be opened; empty if it could
 */
record OpenClLibrary(Optional<SymbolLookup> lookup, String absence) {

  /** {@code cl_mem} and similar types, and {@code size_t}: 64 bits on every supported platform. */
  static final ValueLayout.OfLong HANDLE = JAVA_LONG;

  static final ValueLayout.OfLong SIZE = JAVA_LONG;
  static final ValueLayout.OfLong BITFIELD = JAVA_LONG;
  static final ValueLayout.OfInt INT = JAVA_INT;
  static final MemoryLayout POINTER = ADDRESS;

  /** Opens the library that {@code tidepool.opencl.library} names, or the platform's usual one. */
  static OpenClLibrary open(Optional<String> override) {
    List<String> names =
        override.map(List::of).orElseGet(() -> usualNames(Platform.CURRENT.system()));
    for (String name : names) {
      try {
        // Never unloaded: drivers start threads that would then run unmapped code.
        return new OpenClLibrary(Optional.of(SymbolLookup.libraryLookup(name, Arena.global())), "");
      } catch (IllegalArgumentException notFound) {
        // The next name may work; if none does, the note below lists them all.
      } catch (IllegalCallerException denied) {
        return new OpenClLibrary(
            Optional.empty(),
            "native access is denied to this module; run Java with"
                + " --enable-native-access=dev.tidepool.opencl (on the class path: ALL-UNNAMED)");
      }
    }
    String advice =
        override.isPresent()
            ? "check the property tidepool.opencl.library"
            : advice(Platform.CURRENT.system());
    return new OpenClLibrary(
        Optional.empty(), "no OpenCL library (tried " + String.join(", ", names) + "); " + advice);
  }

  /**
   * Returns the names by which the loader of a system finds OpenCL; on macOS no file has that path.
   */
  static List<String> usualNames(OperatingSystem system) {
    return switch (system) {
      case MACOS ->
          List.of("/System/Library/Frameworks/OpenCL.framework/OpenCL", "libOpenCL.dylib");
      case WINDOWS -> List.of("OpenCL.dll");
      case LINUX, OTHER -> List.of("libOpenCL.so.1", "libOpenCL.so");
    };
  }

  static String advice(OperatingSystem system) {
    return switch (system) {
      case MACOS -> "macOS brings OpenCL; this version seems to have none";
      case WINDOWS -> "install your GPU's driver, which brings OpenCL";
      case LINUX, OTHER ->
          "install an OpenCL driver (Debian: apt install ocl-icd-libopencl1 and your GPU's"
              + " driver, or pocl-opencl-icd for OpenCL on the processor)";
    };
  }

  boolean has(String function) {
    return lookup.flatMap(symbols -> symbols.find(function)).isPresent();
  }

  /** Returns a function that returns a {@code cl_int} code. */
  MethodHandle code(String function, MemoryLayout... parameters) {
    return link(function, FunctionDescriptor.of(INT, parameters));
  }

  /** Returns a function that returns a handle, with the code in its last parameter. */
  MethodHandle handle(String function, MemoryLayout... parameters) {
    return link(function, FunctionDescriptor.of(HANDLE, parameters));
  }

  /** Returns a function that returns the address of memory. */
  MethodHandle memory(String function, MemoryLayout... parameters) {
    return link(function, FunctionDescriptor.of(ADDRESS, parameters));
  }

  MethodHandle nothing(String function, MemoryLayout... parameters) {
    return link(function, FunctionDescriptor.ofVoid(parameters));
  }

  private MethodHandle link(String function, FunctionDescriptor descriptor) {
    Optional<MemorySegment> address = lookup.flatMap(symbols -> symbols.find(function));
    if (address.isPresent()) {
      return Linker.nativeLinker().downcallHandle(address.get(), descriptor);
    }
    var type = descriptor.toMethodType();
    String why = absence.isEmpty() ? "this OpenCL library has no " + function : absence;
    MethodHandle thrower =
        MethodHandles.throwException(type.returnType(), UnsupportedOperationException.class)
            .bindTo(new UnsupportedOperationException(why));
    return MethodHandles.dropArguments(thrower, 0, type.parameterList());
  }
}
