package dev.tidepool.cuda;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Where NVRTC may be: a toolkit, what the system's loader finds, a Python environment with NVIDIA's
 * packages. The search runs no program and loads no library.
 *
 * @param environment the process's variables
 * @param home the user's folder
 */
record NvrtcPlaces(Map<String, String> environment, Path home) {
  private static final Pattern LIBRARY =
      Pattern.compile(
          "libnvrtc\\.so(?:\\.(\\d+))?(?:\\.(\\d+))?(?:\\.\\d+)*|nvrtc64_(\\d+)_\\d+\\.dll");
  private static final List<String> LOADER_NAMES =
      List.of("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so");

  /** Returns the places according to this process's environment. */
  static NvrtcPlaces ofThisProcess() {
    return new NvrtcPlaces(System.getenv(), Path.of(System.getProperty("user.home", ".")));
  }

  /** Returns files, and names for the loader, in the order in which they are tried. */
  List<String> candidates() {
    Set<String> candidates = new LinkedHashSet<>();
    toolkits("CUDA_HOME", "CUDA_PATH").forEach(folder -> addFrom(folder, candidates));
    candidates.addAll(LOADER_NAMES);
    pythonFolders().forEach(folder -> addFrom(folder, candidates));
    Stream.of("/usr/local", "/opt")
        .flatMap(parent -> list(Path.of(parent), "cuda*").stream())
        .flatMap(NvrtcPlaces::libraryFolders)
        .forEach(folder -> addFrom(folder, candidates));
    return List.copyOf(candidates);
  }

  /**
   * Returns the candidates; those of a newer major version than the driver come last. Such a driver
   * refuses their PTX and promises nothing about their code for its own device.
   */
  static List<String> fitting(List<String> candidates, int driverMajor) {
    return candidates.stream()
        .sorted(Comparator.comparing(candidate -> major(Path.of(candidate)) > driverMajor))
        .toList();
  }

  /** Returns the major version in a file's name; 0 if it has none. */
  private static long major(Path file) {
    return Math.max(0, version(file)) / 1000;
  }

  /** Returns the libraries that a named file or folder may mean. */
  static List<String> candidatesIn(Path named) {
    if (!Files.isDirectory(named)) {
      return List.of(named.toString());
    }
    Set<String> candidates = new LinkedHashSet<>();
    Stream.concat(Stream.of(named), libraryFolders(named))
        .forEach(folder -> addFrom(folder, candidates));
    return List.copyOf(candidates);
  }

  private Stream<Path> toolkits(String... variables) {
    return Stream.of(variables)
        .flatMap(variable -> folder(variable).stream())
        .flatMap(NvrtcPlaces::libraryFolders);
  }

  private static Stream<Path> libraryFolders(Path root) {
    return Stream.of("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "bin")
        .map(root::resolve);
  }

  private Stream<Path> pythonFolders() {
    List<Path> roots = new ArrayList<>();
    folder("VIRTUAL_ENV").ifPresent(roots::add);
    folder("CONDA_PREFIX").ifPresent(roots::add);
    roots.add(home.resolve(".local"));
    pythons().forEach(roots::add);
    return roots.stream()
        .distinct()
        .flatMap(
            root ->
                Stream.concat(
                    Stream.of(root.resolve("lib")),
                    packageFolders(root).flatMap(NvrtcPlaces::nvidiaFolders)));
  }

  /** Returns the roots of the Pythons that a command would run. */
  private Stream<Path> pythons() {
    return Stream.of(environment.getOrDefault("PATH", "").split(File.pathSeparator))
        .filter(entry -> !entry.isEmpty())
        .map(entry -> Path.of(entry, "python3"))
        .filter(Files::isExecutable)
        // The python3 of a virtual environment is a link to the Python that created it.
        .flatMap(python -> Stream.concat(rootOf(python.toAbsolutePath()), target(python)));
  }

  private static Stream<Path> target(Path python) {
    try {
      return rootOf(python.toRealPath());
    } catch (IOException gone) {
      return Stream.empty();
    }
  }

  /** Returns the folder above {@code bin}. */
  private static Stream<Path> rootOf(Path python) {
    Path bin = python.getParent();
    return bin == null ? Stream.empty() : Stream.ofNullable(bin.getParent());
  }

  private static Stream<Path> packageFolders(Path root) {
    List<Path> pythons = new ArrayList<>();
    for (String libraries : List.of("lib", "lib64", "local/lib", "local/lib64")) {
      pythons.addAll(list(root.resolve(libraries), "python3*"));
    }
    return Stream.concat(
        Stream.of(root.resolve("Lib/site-packages")),
        pythons.stream()
            .flatMap(
                python ->
                    Stream.of(python.resolve("site-packages"), python.resolve("dist-packages"))));
  }

  private static Stream<Path> nvidiaFolders(Path packages) {
    return list(packages.resolve("nvidia"), "*").stream()
        .flatMap(part -> Stream.of(part.resolve("lib"), part.resolve("bin")));
  }

  private Optional<Path> folder(String variable) {
    String value = environment.getOrDefault(variable, "");
    try {
      return value.isBlank() ? Optional.empty() : Optional.of(Path.of(value));
    } catch (InvalidPathException noPath) {
      return Optional.empty();
    }
  }

  private static void addFrom(Path folder, Set<String> candidates) {
    list(folder, "*nvrtc*").stream()
        .filter(file -> version(file) >= 0)
        .sorted(Comparator.comparingLong(NvrtcPlaces::version).reversed())
        .forEach(file -> candidates.add(file.toString()));
  }

  /** Returns a number that grows with the version in a file's name; -1 for another file. */
  private static long version(Path file) {
    Matcher name = LIBRARY.matcher(file.getFileName().toString());
    if (!name.matches()) {
      return -1;
    }
    if (name.group(3) != null) {
      // In these names 120 is 12.0.
      return Long.parseLong(name.group(3)) * 100;
    }
    return number(name.group(1)) * 1000 + number(name.group(2));
  }

  private static long number(@Nullable String digits) {
    return digits == null ? 0 : Long.parseLong(digits);
  }

  /** Returns the files in a folder; empty if there is no folder or it cannot be read. */
  static List<Path> list(Path folder, String glob) {
    List<Path> found = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder, glob)) {
      entries.forEach(found::add);
    } catch (IOException | DirectoryIteratorException unreadable) {
      return List.of();
    }
    found.sort(Comparator.naturalOrder());
    return found;
  }
}
