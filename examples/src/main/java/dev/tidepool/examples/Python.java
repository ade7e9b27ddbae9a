package dev.tidepool.examples;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * A Python interpreter in this process, through the {@code java.lang.foreign} API. It runs
 * statements, and exchanges tensors as DLPack capsules. Any thread may use it.
 */
final class Python {
  private static final int RTLD_NOW = 2;
  private static final int RTLD_GLOBAL =
      System.getProperty("os.name").startsWith("Mac") ? 8 : 0x100;

  private static final String SETUP =
      """
      import ctypes
      from sys import getrefcount as sys_count
      import numpy as np

      _new = ctypes.pythonapi.PyCapsule_New
      _new.restype = ctypes.py_object
      _new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
      _pointer = ctypes.pythonapi.PyCapsule_GetPointer
      _pointer.restype = ctypes.c_void_p
      _pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
      _rename = ctypes.pythonapi.PyCapsule_SetName
      _rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
      # Python does not copy the name of a capsule.
      _names = (b"dltensor", b"used_dltensor")

      class Tensor:
          "A tensor of Java, by the address of its DLManagedTensor."
          def __init__(self, address):
              self.address = address
          def __dlpack__(self, **options):
              return _new(self.address, _names[0], None)
          def __dlpack_device__(self):
              return (1, 0)

      def give(array):
          "The address of an array's DLManagedTensor, which the caller ends."
          capsule = array.__dlpack__()
          address = _pointer(capsule, _names[0])
          _rename(capsule, _names[1])
          return address
      """;

  private static final Optional<Python> FOUND = find();

  private final MethodHandle ensure;
  private final MethodHandle release;
  private final MethodHandle run;

  private Python(SymbolLookup library) throws Throwable {
    Linker linker = Linker.nativeLinker();
    MethodHandle initialize =
        linker.downcallHandle(
            library.findOrThrow("Py_InitializeEx"), FunctionDescriptor.ofVoid(JAVA_INT));
    MethodHandle letOthers =
        linker.downcallHandle(
            library.findOrThrow("PyEval_SaveThread"), FunctionDescriptor.of(ADDRESS));
    ensure =
        linker.downcallHandle(
            library.findOrThrow("PyGILState_Ensure"), FunctionDescriptor.of(JAVA_INT));
    release =
        linker.downcallHandle(
            library.findOrThrow("PyGILState_Release"), FunctionDescriptor.ofVoid(JAVA_INT));
    run =
        linker.downcallHandle(
            library.findOrThrow("PyRun_SimpleString"), FunctionDescriptor.of(JAVA_INT, ADDRESS));
    // Without signal handlers; the second call releases the lock that this thread holds.
    initialize.invoke(0);
    MemorySegment _ = (MemorySegment) letOthers.invoke();
  }

  /** Returns the interpreter; empty if this system has no {@code libpython3} or no NumPy for it. */
  static Optional<Python> get() {
    return FOUND;
  }

  private static Optional<Python> find() {
    List<String> names =
        IntStream.of(11, 12, 13, 14, 10, 9)
            .boxed()
            .flatMap(
                minor ->
                    List.of("libpython3." + minor + ".so.1.0", "libpython3." + minor + ".dylib")
                        .stream())
            .toList();
    for (String name : names) {
      if (loadGlobally(name)) {
        try {
          Python python = new Python(SymbolLookup.libraryLookup(name, Arena.global()));
          python.run(SETUP);
          return Optional.of(python);
        } catch (Throwable e) {
          return Optional.empty();
        }
      }
    }
    return Optional.empty();
  }

  /** Loads a library with global symbols, because NumPy's own libraries do not name libpython. */
  private static boolean loadGlobally(String name) {
    Linker linker = Linker.nativeLinker();
    Optional<MemorySegment> dlopen = linker.defaultLookup().find("dlopen");
    if (dlopen.isEmpty()) {
      return false;
    }
    MethodHandle open =
        linker.downcallHandle(dlopen.get(), FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment library =
          (MemorySegment) open.invoke(arena.allocateFrom(name), RTLD_NOW | RTLD_GLOBAL);
      return library.address() != 0;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Runs statements; Python prints errors to the standard error stream. */
  void run(String statements) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment text = arena.allocateFrom(statements);
      int lock = (int) ensure.invoke();
      try {
        if ((int) run.invoke(text) != 0) {
          throw new IllegalStateException("this fails in Python: " + statements);
        }
      } finally {
        release.invoke(lock);
      }
    } catch (RuntimeException e) {
      throw e;
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
  }

  /** Returns the value of an expression. */
  double number(String expression) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(JAVA_DOUBLE);
      run("ctypes.c_double.from_address(" + out.address() + ").value = " + expression);
      return out.get(JAVA_DOUBLE, 0);
    }
  }

  /** Returns the address of an array's {@code DLManagedTensor}, which the caller must release. */
  long tensor(String array) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(JAVA_LONG);
      run("ctypes.c_int64.from_address(" + out.address() + ").value = give(" + array + ")");
      return out.get(JAVA_LONG, 0);
    }
  }
}
