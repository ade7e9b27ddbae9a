package dev.tidepool.cli;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The results of reductions as lines. A single value is printed alone, several values with their
 * names, like the bindings of a command line. Numbers are exact: the shortest form that reads back
 * as the same value.
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

  /** Returns a value as it is written on a command line. */
  private static String special(double value) {
    return Double.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
}
