package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

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

  private Progress progress(long patienceNanos, BooleanSupplier isTerminal) {
    PrintStream err = new PrintStream(screen, true, StandardCharsets.UTF_8);
    return new Progress(err, patienceNanos, isTerminal);
  }

  private String shown() {
    return screen.toString(StandardCharsets.UTF_8);
  }
}
