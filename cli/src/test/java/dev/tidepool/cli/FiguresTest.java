package dev.tidepool.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FiguresTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {"0|0", "999|999", "1000|1,000", "1048576|1,048,576", "-1234567|-1,234,567"})
  void counts_have_their_thousands_apart(long number, String text) {
    assertThat(Figures.count(number)).isEqualTo(text);
  }

  @Test
  void nouns_agree_with_their_counts() {
    assertThat(Figures.count(1, "element")).isEqualTo("1 element");
    assertThat(Figures.count(0, "element")).isEqualTo("0 elements");
    assertThat(Figures.count(2048, "element")).isEqualTo("2,048 elements");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "0|0.00 ns",
        "8.129|8.13 ns",
        "99.96|100 ns",
        "999.6|1.00 µs",
        "12345|12.3 µs",
        "4560000|4.56 ms",
        "999600000|1.00 s",
        "72500000000|72.5 s"
      })
  void times_have_three_digits_in_the_unit_that_suits(double nanos, String text) {
    assertThat(Figures.time(nanos)).isEqualTo(text);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1|1 byte",
        "640|640 bytes",
        "1024|1 KiB",
        "1536|1.50 KiB",
        "1073741824|1 GiB",
        "22333829939|20.8 GiB",
        "9223372036854775807|8 EiB"
      })
  void bytes_are_in_powers_of_1024(long bytes, String text) {
    assertThat(Figures.bytes(bytes)).isEqualTo(text);
  }

  @Test
  void rates_survive_a_time_of_zero() {
    assertThat(Figures.rate(3L << 30, 1e9)).isEqualTo("3 GiB/s");
    assertThat(Figures.rate(100, 1e9)).isEqualTo("100 bytes/s");
    assertThat(Figures.rate(1, 0)).isEqualTo("954 MiB/s");
  }
}
