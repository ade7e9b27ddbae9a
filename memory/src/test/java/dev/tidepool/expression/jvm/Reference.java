package dev.tidepool.expression.jvm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/** What NumPy says; {@code src/test/python/expression_reference.py} wrote it down. */
public final class Reference {
  private Reference() {}

  public static List<String[]> rows(String file) throws IOException {
    try (BufferedReader reader =
        new BufferedReader(
            new InputStreamReader(
                Objects.requireNonNull(Reference.class.getResourceAsStream(file)),
                StandardCharsets.UTF_8))) {
      return reader.lines().map(line -> line.split("\t", -1)).toList();
    }
  }
}
