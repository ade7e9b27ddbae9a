package dev.tidepool.spi.support;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class VisibleTextTest {
  @Test
  void whatWouldActOnATerminalOrALogIsEscaped() {
    assertThat(VisibleText.of("a\u001b[2J\u009b\n\r\t\0b"))
        .isEqualTo("a\\u001b[2J\\u009b\\n\\r\\t\\u0000b");
    assertThat(VisibleText.of("\u202egnp.\u2066\u200f\u061c\u2028"))
        .isEqualTo("\\u202egnp.\\u2066\\u200f\\u061c\\u2028");
    assertThat(VisibleText.withTabs("\ta\u001b")).isEqualTo("\ta\\u001b");
  }

  @Test
  void lettersAndSignsOfAllLanguagesStay() {
    String text = "na\u00efve \u05d0 \u0645\u06cc\u200c \u6f22 \ud83c\udf0a 'C:\\x'";
    assertThat(VisibleText.of(text)).isEqualTo(text);
  }
}
