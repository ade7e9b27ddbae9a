package dev.tidepool.cuda;

import static java.lang.foreign.MemorySegment.NULL;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.tidepool.AcceleratorException;
import dev.tidepool.spi.Shutdown;
import dev.tidepool.spi.support.DriverCall;
import dev.tidepool.spi.support.NativeLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The functions of NVRTC, NVIDIA's compiler library for CUDA C++, by their exported names. NVRTC
 * needs no device. From version 11.2 on it generates code for a given device, not only PTX.
 */
final class Nvrtc {
  static final String ADVICE =
      "kernels from source and expressions need it: install the CUDA toolkit, or run pip install"
          + " nvidia-cuda-nvrtc-cu12, or name it with tidepool.nvrtc; PTX and cubins run without";

  private static final int NVRTC_SUCCESS = 0;
  static final int NVRTC_ERROR_COMPILATION = 6;

  private static final NativeLibrary LIBRARY = find();

  private static final MethodHandle VERSION = LIBRARY.code("nvrtcVersion", ADDRESS, ADDRESS);
  private static final MethodHandle GET_ERROR_STRING =
      LIBRARY.link("nvrtcGetErrorString", FunctionDescriptor.of(ADDRESS, JAVA_INT));
  private static final MethodHandle GET_NUM_SUPPORTED_ARCHS =
      LIBRARY.code("nvrtcGetNumSupportedArchs", ADDRESS);
  private static final MethodHandle GET_SUPPORTED_ARCHS =
      LIBRARY.code("nvrtcGetSupportedArchs", ADDRESS);
  private static final MethodHandle CREATE_PROGRAM =
      LIBRARY.code("nvrtcCreateProgram", ADDRESS, ADDRESS, ADDRESS, JAVA_INT, ADDRESS, ADDRESS);
  private static final MethodHandle COMPILE_PROGRAM =
      LIBRARY.code("nvrtcCompileProgram", JAVA_LONG, JAVA_INT, ADDRESS);
  private static final MethodHandle DESTROY_PROGRAM = LIBRARY.code("nvrtcDestroyProgram", ADDRESS);
  private static final Output CUBIN = new Output("nvrtcGetCUBINSize", "nvrtcGetCUBIN");
  private static final Output PTX = new Output("nvrtcGetPTXSize", "nvrtcGetPTX");
  private static final Output LOG = new Output("nvrtcGetProgramLogSize", "nvrtcGetProgramLog");

  private Nvrtc() {}

  private static NativeLibrary find() {
    List<String> candidates =
        Settings.nvrtc()
            .map(NvrtcPlaces::candidatesIn)
            .orElseGet(() -> NvrtcPlaces.ofThisProcess().candidates());
    for (String candidate : NvrtcPlaces.fitting(candidates, driverMajor())) {
      NativeLibrary library = NativeLibrary.open("NVRTC", List.of(candidate), "");
      if (library.isPresent()) {
        loadBuiltins(Path.of(candidate));
        return library;
      }
    }
    String where =
        Settings.nvrtc()
            .map(named -> "at " + named + ", which tidepool.nvrtc names")
            .orElse("in CUDA_HOME, on the loader's path or in a Python environment");
    return NativeLibrary.absent("NVRTC", "no NVRTC " + where + "; " + ADVICE);
  }

  /**
   * Returns the major version of CUDA for which the driver is made; without a driver, a number
   * greater than all versions.
   */
  static int driverMajor() {
    return Installed.driverVersion().orElse(Integer.MAX_VALUE) / 1000;
  }

  /**
   * Loads NVRTC's second library. NVRTC looks for it only by name, and does not find it in its own
   * folder.
   */
  private static void loadBuiltins(Path library) {
    Path folder = library.getParent();
    if (folder != null) {
      for (Path builtins : NvrtcPlaces.list(folder, "libnvrtc-builtins.so*")) {
        var _ = NativeLibrary.open("NVRTC", List.of(builtins.toString()), "");
      }
    }
  }

  /** Returns why there is no NVRTC; empty if there is one. */
  static Optional<String> absence() {
    return LIBRARY.isPresent() ? Optional.empty() : Optional.of(LIBRARY.absence());
  }

  /** An output, read by two functions: one for its size and one for its bytes. */
  private static final class Output {
    private final String function;
    private final MethodHandle size;
    private final MethodHandle bytes;

    Output(String sizeFunction, String function) {
      this.function = function;
      size = LIBRARY.code(sizeFunction, JAVA_LONG, ADDRESS);
      bytes = LIBRARY.code(function, JAVA_LONG, ADDRESS);
    }

    byte[] of(long program) {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment count = arena.allocate(JAVA_LONG);
        call(function, () -> (int) size.invoke(program, count));
        MemorySegment output = arena.allocate(Math.max(1, count.get(JAVA_LONG, 0)));
        call(function, () -> (int) bytes.invoke(program, output));
        return output.asSlice(0, count.get(JAVA_LONG, 0)).toArray(JAVA_BYTE);
      }
    }
  }

  /** Returns the major and the minor version. */
  static int[] nvrtcVersion() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment version = arena.allocate(JAVA_INT, 2);
      call(
          "nvrtcVersion",
          () -> (int) VERSION.invokeExact(version, version.asSlice(JAVA_INT.byteSize())));
      return version.toArray(JAVA_INT);
    }
  }

  /** Returns the devices for which it generates code, ascending: 90 for compute capability 9.0. */
  static int[] nvrtcGetSupportedArchs() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(JAVA_INT);
      call("nvrtcGetNumSupportedArchs", () -> (int) GET_NUM_SUPPORTED_ARCHS.invokeExact(count));
      MemorySegment architectures = arena.allocate(JAVA_INT, count.get(JAVA_INT, 0));
      call("nvrtcGetSupportedArchs", () -> (int) GET_SUPPORTED_ARCHS.invokeExact(architectures));
      return architectures.toArray(JAVA_INT);
    }
  }

  /** Returns a program of one file, which {@link #nvrtcDestroyProgram} destroys. */
  static long nvrtcCreateProgram(String source) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment program = arena.allocate(JAVA_LONG);
      MemorySegment text = arena.allocateFrom(source, StandardCharsets.UTF_8);
      MemorySegment name = arena.allocateFrom("kernel.cu");
      call(
          "nvrtcCreateProgram",
          () -> (int) CREATE_PROGRAM.invokeExact(program, text, name, 0, NULL, NULL));
      return program.get(JAVA_LONG, 0);
    }
  }

  /**
   * Compiles a program. Returns whether the source is right; {@link #nvrtcGetProgramLog} has the
   * details.
   */
  static boolean nvrtcCompileProgram(long program, List<String> options) {
    try (Arena arena = Arena.ofConfined()) {
      List<MemorySegment> texts = new ArrayList<>();
      options.forEach(option -> texts.add(arena.allocateFrom(option)));
      MemorySegment pointers = arena.allocate(ADDRESS, Math.max(1, texts.size()));
      for (int i = 0; i < texts.size(); i++) {
        pointers.setAtIndex(ADDRESS, i, texts.get(i));
      }
      int code =
          code(
              "nvrtcCompileProgram",
              () -> (int) COMPILE_PROGRAM.invokeExact(program, texts.size(), pointers));
      if (code != NVRTC_SUCCESS && code != NVRTC_ERROR_COMPILATION) {
        throw failure("nvrtcCompileProgram", code);
      }
      return code == NVRTC_SUCCESS;
    }
  }

  static byte[] nvrtcGetCubin(long program) {
    return CUBIN.of(program);
  }

  static byte[] nvrtcGetPtx(long program) {
    return PTX.of(program);
  }

  static String nvrtcGetProgramLog(long program) {
    String log = new String(LOG.of(program), StandardCharsets.UTF_8);
    int end = log.indexOf(0);
    return end < 0 ? log : log.substring(0, end);
  }

  static void nvrtcDestroyProgram(long program) {
    if (Shutdown.hasBegun()) {
      return;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pointer = arena.allocateFrom(JAVA_LONG, program);
      call("nvrtcDestroyProgram", () -> (int) DESTROY_PROGRAM.invokeExact(pointer));
    }
  }

  private static int code(String function, DriverCall.Code code) {
    return NativeCall.code(function, code);
  }

  private static void call(String function, DriverCall.Code call) {
    int code = code(function, call);
    if (code != NVRTC_SUCCESS) {
      throw failure(function, code);
    }
  }

  private static AcceleratorException failure(String function, int code) {
    return new AcceleratorException(
        function, code, nameOf(code), "NVRTC, CUDA's compiler, could not do its work");
  }

  private static String nameOf(int code) {
    try {
      MemorySegment name = (MemorySegment) GET_ERROR_STRING.invokeExact(code);
      return name.equals(NULL) ? "an unknown error" : name.reinterpret(1024).getString(0);
    } catch (Throwable unexpected) {
      return "an unknown error";
    }
  }
}
