package dev.tidepool.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What reductions came to, as lines: a single value stands alone, several stand behind their names,
 * as bindings of the next command line. Numbers are exact, in the shortest form that reads back the
 * same.
 */
final class ReducedValues {
  private ReducedValues() {}

  static List<String> lines(Map<String, Object> values) {
    List<String> lines = new ArrayList<>();
    values.forEach(
        (name, value) -> lines.add((values.size() == 1 ? "" : name + "=") + text(value)));
    return lines;
  }

  private static String text(Object value) {
    return switch (value) {
      case long[] counts ->
          Arrays.stream(counts).mapToObj(Long::toString).collect(Collectors.joining(" "));
      case Float f when !Float.isFinite(f) -> special(f);
      case Double d when !Double.isFinite(d) -> special(d);
      default -> value.toString();
    };
  }

  /** As scalars are written on a command line. */
  private static String special(double value) {
    return Double.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
}
