package dev.tidepool.testkit.metal;

import dev.tidepool.testkit.compiled.HostCompiler;
import dev.tidepool.testkit.compiled.NativeBuild;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Compiles the simulated Metal, see {@link NativeBuild}. */
final class MetalBuild {
  private static final List<String> SOURCES =
      List.of(
          "blit_encoder.cc",
          "buffer.cc",
          "buffer.h",
          "command_queue.cc",
          "command_queue.h",
          "compute_encoder.cc",
          "control.cc",
          "device.cc",
          "device.h",
          "event.cc",
          "event.h",
          "foundation.cc",
          "foundation.h",
          "kernel_cache.cc",
          "libmetal.cc",
          "library.cc",
          "library.h",
          "metal_abi.h",
          "metal_entry.h",
          "metal_kernel_abi.h",
          "metal_prelude.h",
          "metal_source.h",
          "methods.h",
          "object.cc",
          "object.h",
          "trampoline.cc");

  /** Headers that kernel sources include; the prelude has all their declarations. */
  private static final List<String> KERNEL_HEADERS =
      List.of(
          "metal_stdlib",
          "metal_math",
          "metal_atomic",
          "metal_integer",
          "metal_common",
          "metal_compute",
          "metal_geometric");

  private MetalBuild() {}

  static NativeBuild.Outcome<Path> once() {
    return NativeBuild.attempt("the simulated Metal", MetalBuild::built);
  }

  private static Path built(HostCompiler compiler) throws IOException {
    String constants = new ConstantTable().header();
    return new NativeBuild("simulated-metal", compiler)
        .with(MetalBuild.class, SOURCES)
        .run(List.of(constants), (folder, later) -> compile(compiler, constants, folder, later))
        .resolve("libmetal.so");
  }

  private static void compile(HostCompiler compiler, String constants, Path folder, Path home)
      throws IOException {
    Files.writeString(folder.resolve("metal_constants.h"), constants);
    for (String header : KERNEL_HEADERS) {
      Files.createFile(folder.resolve(header));
    }
    // The library contains the path of the headers for kernels.
    List<String> places =
        List.of("-DTIDEPOOL_CXX=\"" + compiler.command() + '"', "-DTIDEPOOL_HOME=\"" + home + '"');
    compiler.run(folder, places, "-shared", "libmetal.cc", "-o", "libmetal.so", "-ldl");
  }
}
