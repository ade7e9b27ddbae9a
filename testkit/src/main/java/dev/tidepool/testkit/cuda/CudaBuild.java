package dev.tidepool.testkit.cuda;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Compiles the simulated driver, once for each version of its sources and the compiler.
 *
 * <p>The result is in a folder of the user's cache that only the owner can enter, under the hash of
 * all that it depends on; it appears there whole or not at all, so that several processes may build
 * at the same time. Where the CUDA toolkit's {@code cuda.h} is present (in {@code CUDA_HOME} or
 * {@code /usr/local/cuda}), the driver is compiled against it, and its own numbers are compared
 * with it.
 */
final class CudaBuild {
  /** The two libraries. */
  record Libraries(Path driver, Path compiler) {}

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
          "grid.cc",
          "grid.h",
          "ipc.cc",
          "ipc.h",
          "kernel_abi.h",
          "ledger.cc",
          "ledger.h",
          "ledger_control.cc",
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

  private static final List<String> FLAGS =
      List.of(
          "-std=c++17",
          "-O1",
          "-fPIC",
          "-fvisibility=hidden",
          "-pthread",
          "-Wall",
          "-Wextra",
          "-Werror");

  private final Optional<Libraries> libraries;
  private final String whyAbsent;

  private CudaBuild(Optional<Libraries> libraries, String whyAbsent) {
    this.libraries = libraries;
    this.whyAbsent = whyAbsent;
  }

  Optional<Libraries> libraries() {
    return libraries;
  }

  String whyAbsent() {
    return whyAbsent;
  }

  static CudaBuild once() {
    if (!System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux")) {
      return new CudaBuild(Optional.empty(), "the simulated CUDA driver is for Linux");
    }
    Optional<Compiler> compiler = Compiler.find();
    if (compiler.isEmpty()) {
      return new CudaBuild(
          Optional.empty(),
          "the simulated CUDA driver is compiled where it runs, and there is no C++ compiler: set"
              + " CXX, or install g++");
    }
    try {
      return new CudaBuild(Optional.of(built(compiler.get())), "");
    } catch (IOException failure) {
      return new CudaBuild(
          Optional.empty(), "the simulated CUDA driver does not compile: " + failure.getMessage());
    }
  }

  private static Libraries built(Compiler compiler) throws IOException {
    Path cache = cache();
    Path home = cache.resolve(hash(compiler));
    if (!Files.isDirectory(home)) {
      Path attempt = Files.createTempDirectory(cache, "attempt");
      try {
        // The compiler's libraries name the folder of the headers, so sources are put in place
        // first.
        compile(compiler, attempt, home);
        Files.move(attempt, home, StandardCopyOption.ATOMIC_MOVE);
      } catch (IOException failure) {
        if (!Files.isDirectory(home)) { // else another process was first
          throw failure;
        }
      } finally {
        delete(attempt);
      }
    }
    return new Libraries(home.resolve("libcuda.so.1"), home.resolve("libnvrtc.so"));
  }

  private static void compile(Compiler compiler, Path folder, Path home) throws IOException {
    for (String source : SOURCES) {
      Files.write(folder.resolve(source), bytes(source));
    }
    List<String> header =
        compiler
            .cudaHeaders()
            .map(path -> List.of("-DTIDEPOOL_CUDA_HEADER", "-isystem", path.toString()))
            .orElse(List.of());
    if (!header.isEmpty()) {
      compiler.run(folder, header, "-fsyntax-only", "abi_check.cc");
    }
    compiler.run(folder, header, "-shared", "libcuda.cc", "-o", "libcuda.so.1", "-ldl");
    List<String> places =
        List.of("-DTIDEPOOL_CXX=\"" + compiler.command() + '"', "-DTIDEPOOL_SHIM=\"" + home + '"');
    compiler.run(folder, places, "-shared", "libnvrtc.cc", "-o", "libnvrtc.so");
  }

  /** A folder that only the owner can enter. */
  private static Path cache() throws IOException {
    String set = System.getenv("XDG_CACHE_HOME");
    Path caches =
        set == null || set.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(set);
    Path folder = caches.resolve("tidepool").resolve("simulated-cuda");
    Files.createDirectories(folder);
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx------"));
    return folder;
  }

  private static String hash(Compiler compiler) throws IOException {
    MessageDigest digest;
    try {
      digest = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible); // every Java has it
    }
    digest.update((compiler + FLAGS.toString()).getBytes(StandardCharsets.UTF_8));
    if (compiler.cudaHeaders().isPresent()) {
      // The folder may have a later version another time.
      digest.update(Files.readAllBytes(compiler.cudaHeaders().get().resolve("cuda.h")));
    }
    for (String source : SOURCES) {
      digest.update(source.getBytes(StandardCharsets.UTF_8));
      digest.update(bytes(source));
    }
    return HexFormat.of().formatHex(digest.digest(), 0, 12);
  }

  private static byte[] bytes(String source) throws IOException {
    try (InputStream stream = CudaBuild.class.getResourceAsStream(source)) {
      if (stream == null) {
        throw new IOException(source + " is not among the testkit's resources");
      }
      return stream.readAllBytes();
    }
  }

  private static void delete(Path folder) throws IOException {
    if (Files.isDirectory(folder)) {
      List<Path> files;
      try (Stream<Path> listed = Files.list(folder)) {
        files = listed.toList();
      }
      for (Path file : files) {
        Files.delete(file);
      }
      Files.delete(folder);
    }
  }

  /**
   * A C++ compiler.
   *
   * @param command how it is called
   * @param version what it says of itself
   * @param cudaHeaders the folder of {@code cuda.h}, where there is one of 12.2 or newer
   */
  private record Compiler(String command, String version, Optional<Path> cudaHeaders) {
    private static final int OLDEST_HEADER = 12020;

    static Optional<Compiler> find() {
      String chosen = System.getenv("CXX");
      return (chosen == null || chosen.isBlank() ? Stream.of("g++", "c++") : Stream.of(chosen))
          .flatMap(
              command -> {
                try {
                  String version = output(new ProcessBuilder(command, "--version"));
                  return Stream.of(new Compiler(command, version, headers()));
                } catch (IOException absent) {
                  return Stream.empty();
                }
              })
          .findFirst();
    }

    private static Optional<Path> headers() {
      return Stream.of(System.getenv("CUDA_HOME"), "/usr/local/cuda")
          .filter(home -> home != null && !home.isEmpty())
          .map(home -> Path.of(home, "include"))
          .filter(Compiler::isRecent)
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

    void run(Path folder, List<String> options, String... arguments) throws IOException {
      List<String> call = new ArrayList<>(List.of(command));
      call.addAll(FLAGS);
      call.addAll(options);
      call.addAll(List.of(arguments));
      output(new ProcessBuilder(call).directory(folder.toFile()));
    }

    private static String output(ProcessBuilder builder) throws IOException {
      Process process = builder.redirectErrorStream(true).start();
      String text;
      try (InputStream stream = process.getInputStream()) {
        process.getOutputStream().close();
        text = new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        if (!process.waitFor(5, TimeUnit.MINUTES) || process.exitValue() != 0) {
          throw new IOException(String.join(" ", builder.command()) + " failed:\n" + text);
        }
      } catch (InterruptedException interrupt) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted while the compiler ran", interrupt);
      } finally {
        process.destroy();
      }
      return text;
    }
  }
}
