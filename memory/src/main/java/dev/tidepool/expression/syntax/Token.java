package dev.tidepool.expression.syntax;

/** A word of the language; {@code text} is empty at the end of the source. */
record Token(Kind kind, String text, int position) {
  enum Kind {
    NAME,
    INTEGER,
    DECIMAL,
    SYMBOL,
    /** A semicolon, or the end of a line outside of parentheses. */
    SEPARATOR,
    END
  }

  boolean is(String symbol) {
    return kind == Kind.SYMBOL && text.equals(symbol);
  }

  /** Returns a description for messages. */
  String described() {
    return switch (kind) {
      case END -> "the end";
      case SEPARATOR -> text.equals("\n") ? "the end of the line" : "';'";
      default -> "'" + shown() + "'";
    };
  }

  /** Returns its text, shortened if it is long. */
  String shown() {
    return ExpressionException.shortened(text);
  }
}
