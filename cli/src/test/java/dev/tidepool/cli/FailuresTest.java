package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("A failure is one line")
class FailuresTest {
  /** Its own message is the file's name alone. */
  @Test
  void that_says_why_a_file_cannot_be_written() {
    assertThat(told(new AccessDeniedException("/root/page.html")))
        .isEqualTo("tidepool: /root/page.html: permission denied");
  }

  @Test
  void that_says_what_to_do_when_no_more_files_can_be_opened() {
    assertThat(told(new FileSystemException("/tmp/page.html", null, "Too many open files")))
        .isEqualTo(
            "tidepool: /tmp/page.html: too many files are open in this process"
                + " (close some, or raise its limit, ulimit -n)");
  }

  private static String told(Throwable failure) {
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    int status =
        Failures.report(failure, false, new PrintStream(err, true, StandardCharsets.UTF_8));
    assertThat(status).isEqualTo(ExitStatus.FAILED);
    return err.toString(StandardCharsets.UTF_8).strip();
  }
}
