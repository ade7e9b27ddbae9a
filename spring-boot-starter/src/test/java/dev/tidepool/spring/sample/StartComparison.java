package dev.tidepool.spring.sample;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.tidepool.spring.TidepoolAutoConfiguration;
import dev.tidepool.spring.TidepoolEndpointAutoConfiguration;
import dev.tidepool.spring.TidepoolHealthAutoConfiguration;
import dev.tidepool.spring.TidepoolMetricsAutoConfiguration;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;

/**
 * What the starter adds to the start of a service with web and actuator, by the time that Spring
 * Boot logs. Starts with and without it alternate.
 *
 * <p>No test by its name, so that only {@code -Dtest=StartComparison} runs it. {@code
 * tidepool.benchmark.runs} are the starts of each (11).
 */
class StartComparison {
  private static final Pattern STARTED = Pattern.compile("Started .* in ([\\d.]+) seconds");
  private static final int RUNS = Integer.getInteger("tidepool.benchmark.runs", 11);

  /** A service that does nothing. */
  @EnableAutoConfiguration
  public static class Plain {
    public static void main(String[] arguments) {
      SpringApplication.run(Plain.class, arguments);
    }
  }

  @Test
  void startsWithAndWithout() throws IOException {
    String without =
        "--spring.autoconfigure.exclude="
            + Stream.of(
                    TidepoolAutoConfiguration.class,
                    TidepoolHealthAutoConfiguration.class,
                    TidepoolMetricsAutoConfiguration.class,
                    TidepoolEndpointAutoConfiguration.class)
                .map(Class::getName)
                .collect(Collectors.joining(","));
    List<Double> plain = new ArrayList<>();
    List<Double> ours = new ArrayList<>();
    for (int i = 0; i < RUNS; i++) {
      plain.add(seconds(without));
      ours.add(seconds("--tidepool.accelerator=cpu:0"));
    }
    double added = median(ours) - median(plain);
    System.out.printf(
        Locale.ROOT,
        "without %.2f s, with %.2f s: %.0f ms more; of the least %.0f ms%n",
        median(plain),
        median(ours),
        1e3 * added,
        1e3 * (ours.getFirst() - plain.getFirst()));
  }

  private static double seconds(String argument) throws IOException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Plain.class.getName(),
                "--server.port=0",
                argument)
            .redirectErrorStream(true)
            .start();
    List<String> log = new ArrayList<>();
    try (BufferedReader output = process.inputReader(UTF_8)) {
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        log.add(line);
        Matcher started = STARTED.matcher(line);
        if (started.find()) {
          return Double.parseDouble(started.group(1));
        }
      }
    } finally {
      process.destroyForcibly();
    }
    throw new IllegalStateException("the service did not start:\n" + String.join("\n", log));
  }

  /** The median; sorts the values. */
  private static double median(List<Double> values) {
    values.sort(null);
    return values.get(values.size() / 2);
  }
}
