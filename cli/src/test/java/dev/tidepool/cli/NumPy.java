package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** The reference: cases that {@code reference.py} writes, with NumPy's results. */
final class NumPy {
  private static final String PYTHON = "/usr/bin/python3";

  private NumPy() {}

  /**
   * One command line and what comes of it.
   *
   * @param title what it shows
   * @param distance units in the last place, or {@code same value}
   * @param expected {@code name=file} for each output
   * @param arguments of {@code tidepool eval}; {@code {out}} stands for the folder of outputs
   */
  record Case(String title, String distance, List<String> expected, List<String> arguments) {
    static Case parse(String line) {
      List<String> parts = Arrays.asList(line.split("\t"));
      return new Case(
          parts.get(0),
          parts.get(1),
          List.of(parts.get(2).split(" ")),
          parts.subList(3, parts.size()));
    }
  }

  /**
   * Has Python write the cases of a seed. Without NumPy the test fails in continuous integration
   * and is skipped elsewhere.
   */
  static List<Case> cases(Path folder, long seed) {
    String output = run(folder, "reference.py", folder.toString(), Long.toString(seed));
    try {
      return Files.readAllLines(folder.resolve("cases.tsv")).stream().map(Case::parse).toList();
    } catch (IOException e) {
      throw new AssertionError("reference.py wrote no cases: " + output, e);
    }
  }

  /** Runs a script of the tests' resources; answers what it prints. */
  static String run(Path folder, String script, String... arguments) {
    try (InputStream text = NumPy.class.getResourceAsStream(script)) {
      Path file = Files.write(folder.resolve(script), text.readAllBytes());
      ProcessBuilder builder = new ProcessBuilder(PYTHON, file.toString());
      builder.command().addAll(List.of(arguments));
      Process process = builder.redirectErrorStream(true).start();
      String output = new String(process.getInputStream().readAllBytes());
      if (process.waitFor() == 0) {
        return output;
      }
      return missing("NumPy gave no reference values: " + output);
    } catch (IOException e) {
      return missing(PYTHON + " cannot be run: " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  private static String missing(String why) {
    String advice = why + " (on Debian: apt-get install python3-numpy)";
    if ("true".equals(System.getenv("CI"))) {
      return fail(advice);
    }
    System.err.println("SKIPPED: " + advice);
    return abort(advice);
  }
}
