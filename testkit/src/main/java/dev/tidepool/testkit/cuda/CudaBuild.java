package dev.tidepool.testkit.cuda;

import dev.tidepool.testkit.compiled.HostCompiler;
import dev.tidepool.testkit.compiled.NativeBuild;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Compiles the simulated driver, see {@link NativeBuild}. If {@code cuda.h} of the CUDA toolkit is
 * present (in {@code CUDA_HOME} or {@code /usr/local/cuda}), the driver is compiled against it, and
 * its own constants are compared with it.
 */
final class CudaBuild {
  /** The driver and the kernel compiler. */
  record Libraries(Path driver, Path compiler) {}

  private static final int OLDEST_HEADER = 12020;

  private static final List<String> SOURCES =
      List.of(
          "abi_check.cc",
          "address_space.cc",
          "address_space.h",
          "batched_copy.cc",
          "batched_copy.h",
          "configuration.h",
          "container.h",
          "context.cc",
          "context.h",
          "control.cc",
          "copy.cc",
          "cuda_abi.h",
          "cuda_codes.inc",
          "cuda_shim.h",
          "cuda_source.h",
          "device.cc",
          "driver_api.h",
          "entry_point.cc",
          "event.cc",
          "ipc.cc",
          "ipc.h",
          "libcuda.cc",
          "libnvrtc.cc",
          "machine.cc",
          "machine.h",
          "managed.cc",
          "memory.cc",
          "memory.h",
          "module.cc",
          "module.h",
          "pool.cc",
          "pool.h",
          "stream.cc",
          "stream.h",
          "virtual_memory.cc",
          "virtual_memory.h");

  private CudaBuild() {}

  static NativeBuild.Outcome<Libraries> once() {
    return NativeBuild.attempt("the simulated CUDA driver", CudaBuild::built);
  }

  private static Libraries built(HostCompiler compiler) throws IOException {
    Optional<Path> headers = headers();
    List<String> dependencies = new ArrayList<>();
    if (headers.isPresent()) {
      // The folder may contain a later version next time.
      dependencies.add(headers.get().toString());
      dependencies.add(
          Files.readString(headers.get().resolve("cuda.h"), StandardCharsets.ISO_8859_1));
    }
    Path home =
        new NativeBuild("simulated-cuda", compiler)
            .with(CudaBuild.class, SOURCES)
            .run(dependencies, (folder, later) -> compile(compiler, headers, folder, later));
    return new Libraries(home.resolve("libcuda.so.1"), home.resolve("libnvrtc.so"));
  }

  private static void compile(HostCompiler compiler, Optional<Path> headers, Path folder, Path home)
      throws IOException {
    List<String> header =
        headers
            .map(path -> List.of("-DTIDEPOOL_CUDA_HEADER", "-isystem", path.toString()))
            .orElse(List.of());
    if (!header.isEmpty()) {
      compiler.run(folder, header, "-fsyntax-only", "abi_check.cc");
    }
    compiler.run(folder, header, "-shared", "libcuda.cc", "-o", "libcuda.so.1", "-ldl");
    // The compiler's library contains the path of the headers for kernels.
    List<String> places =
        List.of("-DTIDEPOOL_CXX=\"" + compiler.command() + '"', "-DTIDEPOOL_SHIM=\"" + home + '"');
    compiler.run(folder, places, "-shared", "libnvrtc.cc", "-o", "libnvrtc.so");
  }

  /** Returns the folder of {@code cuda.h}, if it is of version 12.2 or newer. */
  private static Optional<Path> headers() {
    return Stream.of(System.getenv("CUDA_HOME"), "/usr/local/cuda")
        .filter(home -> home != null && !home.isEmpty())
        .map(home -> Path.of(home, "include"))
        .filter(CudaBuild::isRecent)
        .findFirst();
  }

  private static boolean isRecent(Path include) {
    try (Stream<String> lines =
        Files.lines(include.resolve("cuda.h"), StandardCharsets.ISO_8859_1)) {
      return lines
          .filter(line -> line.startsWith("#define CUDA_VERSION "))
          .anyMatch(line -> Integer.parseInt(line.substring(21).strip()) >= OLDEST_HEADER);
    } catch (IOException | NumberFormatException absent) {
      return false;
    }
  }
}
