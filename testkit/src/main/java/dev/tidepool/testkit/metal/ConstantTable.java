package dev.tidepool.testkit.metal;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The table of Apple's documented values of enumerations and option sets. */
final class ConstantTable {
  static final String RESOURCE = "constants.txt";

  private static final int COLUMNS = 4;

  private final Map<String, Long> values = new TreeMap<>();

  ConstantTable() {
    try (InputStream stream = ConstantTable.class.getResourceAsStream(RESOURCE)) {
      if (stream == null) {
        throw new IllegalStateException(RESOURCE + " is not among the testkit's resources");
      }
      new String(stream.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .filter(line -> !line.isBlank() && !line.startsWith("#"))
          .forEach(this::add);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }

  private void add(String line) {
    String[] cells = line.split(";", -1);
    if (cells.length != COLUMNS) {
      throw new IllegalStateException("four columns are needed: " + line);
    }
    if (values.put(cells[1].strip(), Long.valueOf(cells[2].strip())) != null) {
      throw new IllegalStateException("a constant is in the table twice: " + line);
    }
  }

  OptionalLong value(String constant) {
    Long value = values.get(constant);
    return value == null ? OptionalLong.empty() : OptionalLong.of(value);
  }

  /** Returns the constants for C++. */
  String header() {
    return values.entrySet().stream()
        .map(
            entry -> "inline constexpr long %s = %s;\n".formatted(entry.getKey(), entry.getValue()))
        .collect(Collectors.joining("", "// Made from " + RESOURCE + ".\n#pragma once\n\n", ""));
  }
}
