package dev.tidepool.expression.c;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Functions of floats in Metal's language. A program contains those that it calls. They are in
 * {@code metal_functions.metal}, whose head describes the structure of the file. Immutable.
 */
final class MetalFunctions {
  /** All of them. */
  static final MetalFunctions ALL = read();

  private static final String PREFIX = "tp_";
  private static final String MARK = "//@ ";

  // In the order of the file: each function comes before its callers.
  private final Map<String, Section> sections;

  private record Section(List<String> calls, String text) {}

  private MetalFunctions(Map<String, Section> sections) {
    this.sections = sections;
  }

  private static MetalFunctions read() {
    Map<String, Section> sections = new LinkedHashMap<>();
    String[] parts = text().split("(?m)^" + MARK, -1);
    // The text before the first mark describes the file.
    for (int i = 1; i < parts.length; i++) {
      int colon = parts[i].indexOf(':');
      int end = parts[i].indexOf('\n');
      String calls = parts[i].substring(colon + 1, end).strip();
      sections.put(
          parts[i].substring(0, colon),
          new Section(
              calls.isEmpty() ? List.of() : List.of(calls.split(" ")),
              parts[i].substring(end + 1)));
    }
    return new MetalFunctions(sections);
  }

  private static String text() {
    try (InputStream stream =
        Objects.requireNonNull(
            MetalFunctions.class.getResourceAsStream("metal_functions.metal"),
            "metal_functions.metal")) {
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException broken) {
      throw new UncheckedIOException(broken);
    }
  }

  /** Returns the name by which programs call a function: one of these, or the language's own. */
  String nameOf(String function) {
    return sections.containsKey(PREFIX + function) ? PREFIX + function : function;
  }

  /**
   * Returns the text of functions and of all that they call.
   *
   * @param called names returned by {@link #nameOf}
   */
  String text(Set<String> called) {
    Set<String> needed = new LinkedHashSet<>();
    called.forEach(name -> need(name, needed));
    StringBuilder text = new StringBuilder();
    sections.forEach(
        (name, section) -> {
          if (needed.contains(name)) {
            text.append(section.text());
          }
        });
    return text.toString();
  }

  private void need(String name, Set<String> needed) {
    Section section = sections.get(name);
    if (section != null && needed.add(name)) {
      section.calls().forEach(other -> need(other, needed));
    }
  }
}
