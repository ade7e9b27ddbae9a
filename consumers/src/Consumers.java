import java.io.File;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Builds and runs the projects beside it, which use Tidepool as a user's project does: from a
 * repository that only a deployment has filled. Run by the build, after all modules.
 *
 * <p>Their Maven has a local repository of its own. What it lacks it finds in the one of this
 * build, all but artifacts of Tidepool, which may be old there.
 *
 * <p>Arguments: the folder of Maven, the local repository of this build, {@code offline=true} or
 * not, the folder that was deployed to, the version, the folder of the projects, and the folder to
 * work in.
 */
final class Consumers {
  private static final String OWN = "tidepool";

  private Consumers() {}

  public static void main(String[] arguments) throws IOException, InterruptedException {
    Path maven = Path.of(arguments[0]);
    Path shared = Path.of(arguments[1]);
    boolean offline = arguments[2].equals("offline=true");
    Path deployed = Path.of(arguments[3]);
    String version = arguments[4];
    Path projects = Path.of(arguments[5]);
    Path work = Files.createDirectories(Path.of(arguments[6]));
    if (!Files.isDirectory(deployed.resolve("dev").resolve(OWN))) {
      throw fail("nothing is deployed in " + deployed + "; run ./mvnw verify for all modules");
    }
    Path copy = work.resolve("projects");
    delete(copy);
    copy(projects, copy);
    Path local = work.resolve("local");
    delete(local.resolve("dev"));
    Path tail = work.resolve("others");
    delete(tail);
    link(shared, tail);

    List<String> command = new ArrayList<>();
    boolean windows = File.separatorChar == '\\';
    command.add(maven.resolve("bin").resolve(windows ? "mvn.cmd" : "mvn").toString());
    command.addAll(List.of("--batch-mode", "--file", copy.resolve("pom.xml").toString(), "test"));
    command.add("-Dtidepool.version=" + version);
    command.add("-Dtidepool.repository=" + deployed.toUri());
    command.add("-Dmaven.repo.local=" + local);
    command.add("-Dmaven.repo.local.tail=" + tail);
    if (offline) {
      command.addAll(List.of("--offline", "-Daether.offline.protocols=file"));
    }
    Path log = work.resolve("consumers.log");
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
    builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
    // The outer build's options are its own affair. As there, a second compiler does not pay.
    builder.environment().remove("MAVEN_ARGS");
    builder.environment().put("MAVEN_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
    if (builder.start().waitFor() != 0) {
      Files.readAllLines(log).forEach(System.err::println);
      throw fail("the consumers failed; " + log + " is above");
    }
    // Each build deploys again, and snapshots would heap up.
    delete(deployed);
  }

  private static AssertionError fail(String message) {
    return new AssertionError(message);
  }

  /** Links everything in a repository but this project's own artifacts. */
  private static void link(Path repository, Path tail) throws IOException {
    Files.createDirectories(tail.resolve("dev"));
    for (Path child : list(repository)) {
      if (!child.endsWith("dev")) {
        Files.createSymbolicLink(tail.resolve(child.getFileName()), child);
      }
    }
    for (Path child : list(repository.resolve("dev"))) {
      if (!child.endsWith(OWN)) {
        Files.createSymbolicLink(tail.resolve("dev").resolve(child.getFileName()), child);
      }
    }
  }

  private static List<Path> list(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    try (Stream<Path> children = Files.list(folder)) {
      return children.toList();
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.toList()) {
        Files.copy(file, to.resolve(from.relativize(file).toString()));
      }
    }
  }

  /** Deletes a folder with all that is in it; links in it, not what they name. */
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
          public FileVisitResult postVisitDirectory(Path visited, IOException failure)
              throws IOException {
            if (failure != null) {
              throw failure;
            }
            Files.delete(visited);
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
