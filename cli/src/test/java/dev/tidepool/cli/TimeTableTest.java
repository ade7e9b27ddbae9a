package dev.tidepool.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import org.junit.jupiter.api.Test;

class TimeTableTest {
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  private final TimeTable table = new TimeTable(new PrintStream(bytes, true, UTF_8), false);

  private String printed() {
    return bytes.toString(UTF_8);
  }

  @Test
  void a_row_that_is_slower_says_why() {
    table.times("y = a*x + y", 200, 100, "Java loop", "one pass over memory");
    assertThat(printed().lines())
        .hasSize(2)
        .element(1)
        .isEqualTo("    slower: one pass over memory");
    assertThat(printed()).contains("0.5x");
  }

  @Test
  void a_row_that_is_faster_or_as_fast_says_nothing_more() {
    table.times("allocate", 50, 100, "no pool", "never");
    table.times("allocate", 100, 95, "no pool", "noise");
    assertThat(printed().lines()).hasSize(2);
    assertThat(printed()).contains("2.0x").doesNotContain("slower");
  }
}
