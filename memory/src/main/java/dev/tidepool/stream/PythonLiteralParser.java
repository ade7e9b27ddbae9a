package dev.tidepool.stream;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Parses the Python literal at the start of a {@code .npy} file: strings, integers, {@code True},
 * {@code False}, {@code None}, tuples, lists and dicts of them. A dict becomes a {@link Map}, a
 * list a {@link List}, a tuple a {@link Tuple}, an integer a {@link BigInteger}, {@code None} the
 * constant {@link #NONE}.
 *
 * <p>For any text, the only exception is {@link NpyFormatException}: nesting is bounded, and so is
 * the number of values, each of which takes many times the memory of its two characters.
 */
final class PythonLiteralParser {
  /** A Python tuple, which a list is not. */
  record Tuple(List<Object> items) {}

  /** Python's {@code None}. */
  static final Object NONE = new Object();

  private static final int DEEPEST = 32;
  private static final int MOST_VALUES = 1 << 17;
  private static final int LONGEST_QUOTE = 60;
  private static final int LONGEST_INTEGER = 40;

  private final String text;
  private int at;
  private int depth;
  private int values;

  private PythonLiteralParser(String text) {
    this.text = text;
  }

  static Object parse(String text) {
    PythonLiteralParser parser = new PythonLiteralParser(text);
    Object value = parser.value();
    parser.skipSpace();
    if (parser.at < text.length()) {
      throw parser.error("the end of the header");
    }
    return value;
  }

  /** Returns a text of unknown origin for a message: bounded, printable. */
  static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("'");
    text.codePoints()
        .limit(LONGEST_QUOTE)
        .forEach(
            point -> {
              if (Character.isISOControl(point) || !Character.isDefined(point)) {
                quoted.append(String.format("\\u%04x", point));
              } else {
                quoted.appendCodePoint(point);
              }
            });
    return quoted.append(text.length() > LONGEST_QUOTE ? "...'" : "'").toString();
  }

  private Object value() {
    skipSpace();
    if (++depth > DEEPEST) {
      throw new NpyFormatException("its header nests deeper than " + DEEPEST);
    }
    if (++values > MOST_VALUES) {
      throw new NpyFormatException("its header has more than " + MOST_VALUES + " values");
    }
    char first = peek();
    Object value =
        switch (first) {
          case '{' -> dict();
          case '(' -> tuple();
          case '[' -> {
            at++;
            yield items(']').items();
          }
          case '\'', '"' -> string(first);
          default -> word();
        };
    depth--;
    return value;
  }

  private Map<String, Object> dict() {
    Map<String, Object> dict = new LinkedHashMap<>();
    at++;
    skipSpace();
    while (peek() != '}') {
      if (!(value() instanceof String key)) {
        throw new NpyFormatException("its header has a key that is no string");
      }
      colon();
      if (dict.put(key, value()) != null) {
        throw new NpyFormatException("its header has the key " + quoted(key) + " twice");
      }
      separator('}');
    }
    at++;
    return dict;
  }

  private Object tuple() {
    at++;
    Items items = items(')');
    boolean parenthesised = items.items().size() == 1 && !items.trailingComma();
    return parenthesised ? items.items().get(0) : new Tuple(items.items());
  }

  private record Items(List<Object> items, boolean trailingComma) {}

  private Items items(char end) {
    List<Object> items = new ArrayList<>();
    boolean comma = false;
    skipSpace();
    while (peek() != end) {
      items.add(value());
      comma = separator(end);
    }
    at++;
    return new Items(items, comma);
  }

  /** Takes a comma, unless the end follows; returns whether there was one. */
  private boolean separator(char end) {
    skipSpace();
    if (peek() == ',') {
      at++;
      skipSpace();
      return true;
    }
    if (peek() != end) {
      throw error("',' or '" + end + "'");
    }
    return false;
  }

  private String string(char quote) {
    StringBuilder string = new StringBuilder();
    at++;
    while (peek() != quote) {
      char next = peek();
      at++;
      if (next == '\n') {
        throw error("the end of a string");
      }
      if (next == '\\') {
        char escaped = peek();
        at++;
        if (escaped != '\\' && escaped != '\'' && escaped != '"') {
          // Other escapes occur in no supported key or type.
          string.append('\\');
        }
        next = escaped;
      }
      string.append(next);
    }
    at++;
    return string.toString();
  }

  private Object word() {
    int start = at;
    if (at < text.length() && (text.charAt(at) == '-' || text.charAt(at) == '+')) {
      at++;
    }
    while (at < text.length() && isWordPart(text.charAt(at))) {
      at++;
    }
    String word = text.substring(start, at);
    return switch (word) {
      case "True" -> true;
      case "False" -> false;
      case "None" -> NONE;
      default -> integer(word, start);
    };
  }

  private BigInteger integer(String word, int start) {
    // Python 2 marked long integers in this way.
    String digits = word.endsWith("L") ? word.substring(0, word.length() - 1) : word;
    int first = digits.startsWith("-") || digits.startsWith("+") ? 1 : 0;
    boolean legal = digits.length() > first && digits.length() <= LONGEST_INTEGER;
    for (int i = first; i < digits.length(); i++) {
      legal &= digits.charAt(i) >= '0' && digits.charAt(i) <= '9';
    }
    if (!legal) {
      at = start;
      throw error("a value");
    }
    return new BigInteger(digits);
  }

  private static boolean isWordPart(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  private void colon() {
    skipSpace();
    if (peek() != ':') {
      throw error("':'");
    }
    at++;
  }

  private char peek() {
    if (at >= text.length()) {
      throw new NpyFormatException("its header ends too early, at character " + at);
    }
    return text.charAt(at);
  }

  private void skipSpace() {
    while (at < text.length() && " \t\r\n\f".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private NpyFormatException error(String wanted) {
    String rest = text.substring(at).stripTrailing();
    return new NpyFormatException(
        "its header is malformed at character "
            + at
            + ": "
            + wanted
            + " expected, but found "
            + (rest.isEmpty() ? "its end" : quoted(rest)));
  }
}
