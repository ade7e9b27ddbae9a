package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("A failure is one line")
class FailuresTest {
  /** Its own message is the file's name alone. */
  @Test
  void that_says_why_a_file_cannot_be_written() {
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    int status =
        Failures.report(
            new AccessDeniedException("/root/page.html"),
            false,
            new PrintStream(err, true, StandardCharsets.UTF_8));
    assertThat(status).isEqualTo(ExitStatus.FAILED);
    assertThat(err.toString(StandardCharsets.UTF_8).strip())
        .isEqualTo("tidepool: /root/page.html: permission denied");
  }
}
