package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@DisplayName("Progress is shown")
class ProgressTest {
  private static final long MIB = 1 << 20;
  private final ByteArrayOutputStream screen = new ByteArrayOutputStream();

  @Test
  void on_a_terminal_and_is_taken_off_at_the_end() {
    try (Progress progress = progress(0, () -> true)) {
      progress.moved(64 * MIB, 256 * MIB);
      progress.moved(128 * MIB, 256 * MIB);
    }
    assertThat(shown()).contains("eval", "50%", "128/256 MiB");
    String last = shown().substring(shown().lastIndexOf('\r', shown().length() - 2));
    assertThat(last).isBlank();
    assertThat(shown().split("\r")).allSatisfy(line -> assertThat(line).hasSizeLessThan(80));
  }

  @Test
  void with_the_rate_of_the_whole_run() {
    try (Progress progress = progress(0, () -> true)) {
      progress.moved(64 * MIB, 256 * MIB);
      progress.moved(128 * MIB, 256 * MIB);
    }
    assertThat(shown()).containsPattern("50% .*[0-9] MiB/s").doesNotContain("?MiB/s");
    assertThat(Progress.rate(975 * MIB, Duration.ofMillis(1999).toNanos())).isEqualTo("488 MiB/s");
    assertThat(Progress.rate(975 * MIB, Duration.ofMillis(500).toNanos())).isEqualTo("1950 MiB/s");
  }

  @Test
  void never_where_errors_go_to_a_file() {
    try (Progress progress = progress(0, () -> false)) {
      progress.moved(64 * MIB, 256 * MIB);
      progress.moved(256 * MIB, 256 * MIB);
    }
    assertThat(shown()).isEmpty();
  }

  @Test
  void not_for_short_runs_nor_for_what_is_done() {
    try (Progress patient = progress(Duration.ofDays(1).toNanos(), () -> true);
        Progress done = progress(0, () -> true)) {
      patient.moved(64 * MIB, 256 * MIB);
      done.moved(256 * MIB, 256 * MIB);
    }
    assertThat(shown()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"40, 39", "200, 79", "0, 79", "3, 19"})
  void in_one_line_of_a_terminal_of_any_width(int columns, int width) {
    try (Progress progress = progress(0, () -> true, columns)) {
      progress.moved(64 * MIB, 256 * MIB);
      progress.moved(128 * MIB, 256 * MIB);
    }
    assertThat(shown()).contains("eval").endsWith("\r" + " ".repeat(width) + "\r");
    assertThat(shown().split("\r"))
        .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(width));
  }

  private Progress progress(long patienceNanos, BooleanSupplier isTerminal) {
    return progress(patienceNanos, isTerminal, 80);
  }

  private Progress progress(long patienceNanos, BooleanSupplier isTerminal, int columns) {
    PrintStream err = new PrintStream(screen, true, StandardCharsets.UTF_8);
    return new Progress(err, patienceNanos, isTerminal, () -> columns);
  }

  private String shown() {
    return screen.toString(StandardCharsets.UTF_8);
  }
}
