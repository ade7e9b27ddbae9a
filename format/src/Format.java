import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/**
 * Runs google-java-format over every module's sources, in one virtual machine.
 *
 * <p>Arguments: {@code check} or {@code replace}, then the project's root. Run by the build in the
 * phase {@code verify}; the formatter is on the class path.
 */
final class Format {
  private Format() {}

  public static void main(String[] arguments) throws IOException {
    boolean check = arguments[0].equals("check");
    Path root = Path.of(arguments[1]);
    List<String> command = new ArrayList<>();
    command.addAll(check ? List.of("--dry-run", "--set-exit-if-changed") : List.of("--replace"));
    int options = command.size();
    sources(root).forEach(file -> command.add(file.toString()));
    if (command.size() == options) {
      return;
    }
    int status =
        ToolProvider.findFirst("google-java-format")
            .orElseThrow(() -> new IllegalStateException("google-java-format is not there"))
            .run(System.out, System.err, command.toArray(String[]::new));
    if (status != 0 && check) {
      System.err.println(
          "The files above do not parse or are not formatted; to format all sources run:"
              + " ./mvnw -pl format -Pformat verify");
    }
    System.exit(status);
  }

  private static List<Path> sources(Path root) throws IOException {
    List<Path> found = new ArrayList<>();
    try (Stream<Path> children = Files.list(root)) {
      for (Path module : children.map(child -> child.resolve("src")).toList()) {
        if (Files.isDirectory(module)) {
          try (Stream<Path> files = Files.walk(module)) {
            files.filter(file -> file.toString().endsWith(".java")).forEach(found::add);
          }
        }
      }
    }
    return found.stream().sorted().toList();
  }
}
