package dev.tidepool.cli;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.expression.types.Expression;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BindingsTest {
  @Test
  void names_are_inputs_outputs_scalars_or_local_values() {
    Bindings bindings =
        Bindings.of(
            Expression.parse("t = a*x; z = t + y; w = t > b"),
            List.of("z=out/z.npy", "b=true", "x=x.npy", "a=2.5", "y=./1", "w=w.npy"),
            false,
            "");
    assertThat(bindings.inputs())
        .containsExactly(entry("x", Path.of("x.npy")), entry("y", Path.of("./1")));
    assertThat(bindings.outputs())
        .containsExactly(entry("z", Path.of("out/z.npy")), entry("w", Path.of("w.npy")));
    assertThat(bindings.scalars()).containsExactly(entry("a", 2.5), entry("b", true));
  }

  @ParameterizedTest
  @CsvSource({
    "2.5, 2.5",
    "-2., -2.0",
    ".5, 0.5",
    "1e-3, 1.0E-3",
    "+1E5, 1.0E5",
    "inf, Infinity",
    "-inf, -Infinity",
    "nan, NaN"
  })
  void decimals_are_doubles(String text, double value) {
    assertThat(Bindings.scalar(text)).contains(value);
  }

  @Test
  void integers_are_longs_and_larger_ones_big() {
    assertThat(Bindings.scalar("-7")).contains(-7L);
    assertThat(Bindings.scalar("9223372036854775807")).contains(Long.MAX_VALUE);
    assertThat(Bindings.scalar("18446744073709551615"))
        .contains(new BigInteger("18446744073709551615"));
  }

  @Test
  void truth_values_are_written_as_in_java_or_python() {
    assertThat(Bindings.scalar("true")).contains(true);
    assertThat(Bindings.scalar("False")).contains(false);
  }

  @ParameterizedTest
  @ValueSource(strings = {"./1", "1.npy", "a", "1e", ".", "-", "0x10", "1,5", "1_000"})
  void everything_else_is_a_file(String text) {
    assertThat(Bindings.scalar(text)).isEmpty();
  }
}
