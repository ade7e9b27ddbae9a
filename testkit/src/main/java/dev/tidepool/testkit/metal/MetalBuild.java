package dev.tidepool.testkit.metal;

import dev.tidepool.testkit.compiled.HostCompiler;
import dev.tidepool.testkit.compiled.NativeBuild;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

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

  /** Headers that sources of kernels include; all they declare is in the prelude. */
  private static final List<String> KERNEL_HEADERS =
      List.of(
          "metal_stdlib",
          "metal_math",
          "metal_atomic",
          "metal_integer",
          "metal_common",
          "metal_compute",
          "metal_geometric");

  private static final List<String> FLAGS =
      List.of(
          "-std=c++20",
          "-O1",
          "-fPIC",
          "-fvisibility=hidden",
          "-pthread",
          "-Wall",
          "-Wextra",
          "-Werror");

  private final Optional<Path> library;
  private final String whyAbsent;

  private MetalBuild(Optional<Path> library, String whyAbsent) {
    this.library = library;
    this.whyAbsent = whyAbsent;
  }

  Optional<Path> library() {
    return library;
  }

  String whyAbsent() {
    return whyAbsent;
  }

  static MetalBuild once() {
    if (!System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux")) {
      return new MetalBuild(Optional.empty(), "the simulated Metal is for Linux");
    }
    Optional<HostCompiler> compiler = HostCompiler.find();
    if (compiler.isEmpty()) {
      return new MetalBuild(
          Optional.empty(),
          "the simulated Metal is compiled where it runs, and there is no C++ compiler: set CXX, or"
              + " install g++");
    }
    try {
      return new MetalBuild(Optional.of(built(compiler.get())), "");
    } catch (IOException failure) {
      return new MetalBuild(
          Optional.empty(), "the simulated Metal does not compile: " + failure.getMessage());
    }
  }

  private static Path built(HostCompiler compiler) throws IOException {
    String constants = new ConstantTable().header();
    Path home =
        new NativeBuild("simulated-metal")
            .with(MetalBuild.class, SOURCES)
            .withShared(
                "export.h",
                "grid.cc",
                "grid.h",
                "host_compiler.h",
                "kernel_abi.h",
                "kernel_source.h",
                "ledger.cc",
                "ledger.h",
                "ledger_control.cc")
            .run(
                List.of(compiler.toString(), FLAGS.toString(), constants),
                (folder, later) -> compile(compiler, constants, folder, later));
    return home.resolve("libmetal.so");
  }

  private static void compile(HostCompiler compiler, String constants, Path folder, Path home)
      throws IOException {
    Files.writeString(folder.resolve("metal_constants.h"), constants);
    for (String header : KERNEL_HEADERS) {
      Files.createFile(folder.resolve(header));
    }
    // The library names the folder of the headers that kernels are compiled with.
    List<String> places =
        List.of("-DTIDEPOOL_CXX=\"" + compiler.command() + '"', "-DTIDEPOOL_HOME=\"" + home + '"');
    compiler.run(folder, FLAGS, places, "-shared", "libmetal.cc", "-o", "libmetal.so", "-ldl");
  }
}
