package dev.tidepool.testkit.kernels;

import java.util.List;
import java.util.Locale;

/** A primitive type of Java. */
enum Kind {
  BOOLEAN('z', "true"),
  BYTE('b', "((byte) 1)"),
  SHORT('s', "((short) 1)"),
  CHAR('c', "'a'"),
  INT('i', "1"),
  LONG('l', "1L"),
  FLOAT('f', "1f"),
  DOUBLE('d', "1d");

  /** The types of array elements and scalar parameters. */
  static final List<Kind> ELEMENTS = List.of(BOOLEAN, BYTE, SHORT, INT, LONG, FLOAT, DOUBLE);

  static final List<Kind> NUMBERS = List.of(BYTE, SHORT, CHAR, INT, LONG, FLOAT, DOUBLE);

  private final char letter;
  private final String simplest;

  Kind(char letter, String simplest) {
    this.letter = letter;
    this.simplest = simplest;
  }

  /** Returns the letter of this type in variable names and in {@link Operations}. */
  char letter() {
    return letter;
  }

  /** Returns a constant that replaces an omitted expression. */
  String simplest() {
    return simplest;
  }

  /** Returns the Java keyword. */
  String keyword() {
    return name().toLowerCase(Locale.ROOT);
  }

  boolean isShort() {
    return this == BYTE || this == SHORT || this == CHAR;
  }

  boolean isInteger() {
    return isShort() || this == INT || this == LONG;
  }

  static Kind of(char letter) {
    for (Kind kind : values()) {
      if (kind.letter == letter) {
        return kind;
      }
    }
    throw new IllegalArgumentException("no type has the letter " + letter);
  }
}
