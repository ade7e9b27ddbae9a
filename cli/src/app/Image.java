import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/**
 * Creates an image of the command line: a folder with a Java runtime, the app and its launchers. It
 * can be copied to machines without Java. The build runs this program on JDK 25.
 *
 * <p>The runtime is linked without the app. The app stays on the class path, because several of its
 * libraries are not modules. It checks that the image is small and runs without an environment. An
 * image for another platform cannot run here, and its size depends on the vendor's modules.
 *
 * <p>Arguments: the folders of the app, of the launchers and of the image, and the folder with the
 * modules of a JDK for another platform, or {@code none}.
 */
final class Image {
  private static final long MOST_BYTES = 60_000_000;

  /**
   * The modules that the app and its libraries use, and those for recordings and management, which
   * users may want.
   */
  private static final List<String> MODULES =
      List.of(
          "java.base",
          "java.logging",
          "java.management",
          "jdk.httpserver",
          "jdk.jfr",
          "jdk.management",
          "jdk.unsupported");

  private Image() {}

  public static void main(String[] arguments) throws IOException, InterruptedException {
    Path app = Path.of(arguments[0]);
    Path launchers = Path.of(arguments[1]);
    Path image = Path.of(arguments[2]);
    Optional<Path> jmods =
        Optional.of(arguments[3]).filter(name -> !name.equals("none")).map(Path::of);
    delete(image);
    link(image, jmods);
    copy(app.resolve("tidepool.jar"), image.resolve("app/tidepool.jar"));
    try (Stream<Path> libraries = Files.list(app.resolve("lib"))) {
      for (Path library : libraries.toList()) {
        copy(library, image.resolve("app/lib").resolve(library.getFileName()));
      }
    }
    try (Stream<Path> files = Files.list(launchers)) {
      for (Path launcher : files.toList()) {
        Path target = image.resolve("bin").resolve(launcher.getFileName());
        copy(launcher, target);
        Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rwxr-xr-x"));
      }
    }
    long bytes = bytes(image);
    System.out.printf("%s: %.1f MB%n", image, bytes / 1e6);
    if (jmods.isEmpty()) {
      checkSize(bytes);
      checkThatItRuns(image);
    }
  }

  private static void link(Path image, Optional<Path> jmods) {
    ToolProvider jlink =
        ToolProvider.findFirst("jlink")
            .orElseThrow(() -> new IllegalStateException("this JDK has no jlink: use a whole one"));
    List<String> options = new ArrayList<>();
    jmods.ifPresent(folder -> options.addAll(List.of("--module-path", checked(folder).toString())));
    options.addAll(
        List.of(
            "--add-modules",
            String.join(",", MODULES),
            "--strip-java-debug-attributes",
            "--no-header-files",
            "--no-man-pages",
            "--vm",
            "server",
            "--compress",
            "zip-9",
            "--output",
            image.toString()));
    int status = jlink.run(System.out, System.err, options.toArray(String[]::new));
    if (status != 0) {
      throw new IllegalStateException("jlink failed with " + status);
    }
  }

  /** Checks for {@code java.base}, without which jlink would silently link this platform's. */
  private static Path checked(Path jmods) {
    if (!Files.isRegularFile(jmods.resolve("java.base.jmod"))) {
      throw new IllegalStateException(
          jmods
              + " has no java.base.jmod; let tidepool.jmods name the folder jmods of a JDK "
              + Runtime.version()
              + " for the platform that the image is for");
    }
    return jmods;
  }

  private static long bytes(Path image) throws IOException {
    try (Stream<Path> files = Files.walk(image)) {
      return files.filter(Files::isRegularFile).mapToLong(file -> file.toFile().length()).sum();
    }
  }

  private static void checkSize(long bytes) {
    if (bytes > MOST_BYTES) {
      throw new IllegalStateException(
          "the image has %d bytes, and is to have at most %d".formatted(bytes, MOST_BYTES));
    }
  }

  private static void checkThatItRuns(Path image) throws IOException, InterruptedException {
    ProcessBuilder info = new ProcessBuilder(image.resolve("bin/tidepool").toString(), "info");
    info.environment().clear();
    Process process = info.inheritIO().start();
    if (!process.waitFor(5, TimeUnit.MINUTES) || process.exitValue() != 0) {
      process.destroyForcibly();
      throw new IllegalStateException("tidepool info does not run in the image");
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.createDirectories(to.getParent());
    Files.copy(from, to);
  }

  private static void delete(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.delete(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path directory, IOException failure)
              throws IOException {
            Files.delete(directory);
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
