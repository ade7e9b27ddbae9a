package dev.tidepool.testkit.compiled;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Compiles a simulated driver with the sources that all of them share, once for each version of the
 * sources and the compiler.
 *
 * <p>The result is in a folder of the user's cache that only the owner can access. The hash of all
 * inputs names the folder. It appears complete or not at all, so several processes may build at the
 * same time.
 */
public final class NativeBuild {
  /**
   * The outcome of a build.
   *
   * @param libraries empty if there are none
   * @param whyAbsent the reason if there are none; otherwise empty
   */
  public record Outcome<T>(Optional<T> libraries, String whyAbsent) {
    private static <T> Outcome<T> absent(String why) {
      return new Outcome<>(Optional.empty(), why);
    }
  }

  /** A complete build. */
  public interface Build<T> {
    /** Builds libraries. */
    T with(HostCompiler compiler) throws IOException;
  }

  /** Compiles sources to libraries. */
  public interface Steps {
    /**
     * Compiles the sources in {@code folder} and stores the results there; {@code home} is the
     * folder to which all of it is moved later.
     */
    void compile(Path folder, Path home) throws IOException;
  }

  private static final List<String> SHARED =
      List.of(
          "environment.cc",
          "environment.h",
          "export.h",
          "grid.cc",
          "grid.h",
          "host_compiler.h",
          "kernel_abi.h",
          "kernel_source.h",
          "ledger.cc",
          "ledger.h",
          "ledger_control.cc");

  private final String name;
  private final HostCompiler compiler;
  private final Map<String, byte[]> sources = new TreeMap<>();

  /** Creates a build whose results are cached under a name. */
  public NativeBuild(String name, HostCompiler compiler) throws IOException {
    this.name = name;
    this.compiler = compiler;
    with(NativeBuild.class, SHARED);
  }

  /**
   * Runs a build that needs Linux and a C++ compiler, if both are present.
   *
   * @param what the name for messages
   */
  public static <T> Outcome<T> attempt(String what, Build<T> build) {
    if (!System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux")) {
      return Outcome.absent(what + " is for Linux");
    }
    Optional<HostCompiler> compiler = HostCompiler.find();
    if (compiler.isEmpty()) {
      return Outcome.absent(
          what
              + " is compiled where it runs, and there is no C++ compiler: set CXX, or install"
              + " g++");
    }
    try {
      return new Outcome<>(Optional.of(build.with(compiler.get())), "");
    } catch (IOException failure) {
      return Outcome.absent(what + " does not compile: " + failure.getMessage());
    }
  }

  /** Adds resources of a class's package to the sources. */
  public NativeBuild with(Class<?> owner, List<String> resources) throws IOException {
    for (String resource : resources) {
      try (InputStream stream = owner.getResourceAsStream(resource)) {
        if (stream == null) {
          throw new IOException(resource + " is not among the testkit's resources");
        }
        sources.put(resource, stream.readAllBytes());
      }
    }
    return this;
  }

  /**
   * Returns the folder with the results, and runs the steps unless it exists.
   *
   * @param dependencies what the results depend on besides the sources and the compiler
   */
  public Path run(List<String> dependencies, Steps steps) throws IOException {
    Path cache = cache();
    Path home = cache.resolve(hash(dependencies));
    if (!Files.isDirectory(home)) {
      Path attempt = Files.createTempDirectory(cache, "attempt");
      try {
        for (Map.Entry<String, byte[]> source : sources.entrySet()) {
          Files.write(attempt.resolve(source.getKey()), source.getValue());
        }
        steps.compile(attempt, home);
        Files.move(attempt, home, StandardCopyOption.ATOMIC_MOVE);
      } catch (IOException failure) {
        if (!Files.isDirectory(home)) { // otherwise another process was first
          throw failure;
        }
      } finally {
        delete(attempt);
      }
    }
    return home;
  }

  /** Returns a folder that only the owner can access. */
  private Path cache() throws IOException {
    String set = System.getenv("XDG_CACHE_HOME");
    Path caches =
        set == null || set.isEmpty()
            ? Path.of(System.getProperty("user.home"), ".cache")
            : Path.of(set);
    Path folder = caches.resolve("tidepool").resolve(name);
    Files.createDirectories(folder);
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx------"));
    return folder;
  }

  private String hash(List<String> dependencies) {
    MessageDigest digest;
    try {
      digest = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible); // every Java has it
    }
    digest.update(
        (compiler + HostCompiler.FLAGS.toString() + dependencies).getBytes(StandardCharsets.UTF_8));
    sources.forEach(
        (source, bytes) -> {
          digest.update(source.getBytes(StandardCharsets.UTF_8));
          digest.update(bytes);
        });
    return HexFormat.of().formatHex(digest.digest(), 0, 12);
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
}
