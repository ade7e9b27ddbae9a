package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Chromium without a window. */
final class Browser {
  private static final List<String> NAMES =
      List.of("chromium", "chromium-browser", "google-chrome");

  private final Path program;
  private final Path folder;

  private Browser(Path program, Path folder) {
    this.program = program;
    this.folder = folder;
  }

  /**
   * The browser of this machine. Without one the test fails in continuous integration and is
   * skipped elsewhere.
   *
   * @param folder for what it keeps
   */
  static Browser find(Path folder) {
    for (String name : NAMES) {
      Path program = Path.of("/usr/bin", name);
      if (Files.isExecutable(program)) {
        return new Browser(program, folder);
      }
    }
    String message = "SKIPPED: no browser draws the page; install chromium";
    System.err.println(message);
    return "true".equals(System.getenv("CI")) ? fail(message) : abort(message);
  }

  /** The page's elements after its script has run; what the script complains of fails the test. */
  String elements(String url, String... options) throws IOException, InterruptedException {
    List<String> arguments = new ArrayList<>(List.of(options));
    arguments.add("--dump-dom");
    return run(url, arguments);
  }

  /** A picture of the page. */
  Path picture(String url, String... options) throws IOException, InterruptedException {
    Path file = Files.createTempFile(folder, "page", ".png");
    List<String> arguments = new ArrayList<>(List.of(options));
    arguments.add("--screenshot=" + file);
    run(url, arguments);
    return file;
  }

  private String run(String url, List<String> options) throws IOException, InterruptedException {
    Path output = folder.resolve("browser.out");
    Path errors = folder.resolve("browser.err");
    List<String> command = new ArrayList<>();
    command.add(program.toString());
    command.addAll(
        List.of(
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
            "--window-size=1280,2200",
            "--user-data-dir=" + folder.resolve("profile"),
            "--virtual-time-budget=4000",
            "--enable-logging=stderr",
            "--v=0"));
    command.addAll(options);
    command.add(url);
    Process process =
        new ProcessBuilder(command)
            .redirectOutput(output.toFile())
            .redirectError(errors.toFile())
            .start();
    try {
      assertThat(process.waitFor(3, TimeUnit.MINUTES)).as("the browser ends").isTrue();
    } finally {
      process.destroyForcibly();
    }
    assertThat(Files.readAllLines(errors)).noneMatch(line -> line.contains(":CONSOLE"));
    return Files.readString(output);
  }
}
