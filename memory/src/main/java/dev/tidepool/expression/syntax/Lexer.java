package dev.tidepool.expression.syntax;

import dev.tidepool.spi.support.VisibleText;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Splits a source into tokens. Line ends separate assignments, but not inside parentheses. */
final class Lexer {
  /** Longer numbers are out of bounds for every type, or have digits that make no difference. */
  private static final int LONGEST_NUMBER = 1000;

  private static final int LONGEST_NAME = 255;

  private static final String INDEXED =
      "; an expression computes each element from those at the same index. Write kernels that index"
          + " arrays as Java methods (KernelSource.method), or by hand (KernelSource.java, .opencl,"
          + " .cuda)";

  private static final Pattern WORD =
      Pattern.compile(
          "(?<name>[A-Za-z_][A-Za-z0-9_]*)"
              + "|(?<decimal>(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
              + "|(?<integer>[0-9]+)"
              + "|(?<symbol>\\*\\*|//|<<|>>|<=|>=|==|!=|&&|\\|\\||[-+*/%<>=!&|^~?:(),])");

  private static final Pattern METHOD = Pattern.compile("\\.([A-Za-z_][A-Za-z0-9_]{0,40})\\(");

  /** The names in front of the dot of a function in other languages. */
  private static final Set<String> CLASSES =
      Set.of("Math", "StrictMath", "cupy", "cp", "math", "np", "numexpr", "numpy", "torch");

  private Lexer() {}

  static List<Token> tokens(String source) {
    List<Token> tokens = new ArrayList<>();
    Matcher word = WORD.matcher(source);
    int depth = 0;
    int position = 0;
    while (position < source.length()) {
      char c = source.charAt(position);
      if (c == ';' || (c == '\n' && depth == 0)) {
        tokens.add(new Token(Token.Kind.SEPARATOR, String.valueOf(c), position++));
      } else if (Character.isWhitespace(c)) {
        position++;
      } else if (word.region(position, source.length()).lookingAt()) {
        Token token = token(word, position);
        refuseTooLong(source, token);
        depth += token.is("(") ? 1 : token.is(")") && depth > 0 ? -1 : 0;
        tokens.add(token);
        position = word.end();
        refuseRunOn(source, token, position);
      } else {
        throw ExpressionException.at(
            source,
            position,
            "unexpected character '"
                + VisibleText.of(Character.toString(source.codePointAt(position)))
                + "'"
                + hint(source, position, tokens));
      }
    }
    tokens.add(new Token(Token.Kind.END, "", source.stripTrailing().length()));
    return tokens;
  }

  private static String hint(String source, int position, List<Token> before) {
    return switch (source.charAt(position)) {
      case '[' -> INDEXED;
      case '.' -> hintForDot(source.substring(position), before);
      default -> "";
    };
  }

  /**
   * Returns a hint about a dot: {@code x.sum()} is a method of an array, {@code np.sum(x)} a
   * function of a class.
   */
  private static String hintForDot(String rest, List<Token> before) {
    Matcher method = METHOD.matcher(rest);
    Token owner = before.isEmpty() ? null : before.getLast();
    if (method.lookingAt()
        && owner != null
        && owner.kind() == Token.Kind.NAME
        && !CLASSES.contains(owner.text())) {
      String function = method.group(1);
      String array = owner.shown();
      return "; functions take arrays in parentheses: %s(%s), not %s.%s()"
          .formatted(function, array, array, function);
    }
    return "; functions are written without a class: sqrt(x), not Math.sqrt(x)";
  }

  private static Token token(Matcher word, int position) {
    Token.Kind kind =
        word.group("name") != null
            ? Token.Kind.NAME
            : word.group("decimal") != null
                ? Token.Kind.DECIMAL
                : word.group("integer") != null ? Token.Kind.INTEGER : Token.Kind.SYMBOL;
    return new Token(kind, word.group(), position);
  }

  /** Refuses a long token before other code computes with it, which takes long, or repeats it. */
  private static void refuseTooLong(String source, Token token) {
    boolean name = token.kind() == Token.Kind.NAME;
    int most = name ? LONGEST_NAME : LONGEST_NUMBER;
    int length = token.text().length();
    if (length > most) {
      throw ExpressionException.at(
          source,
          token.position(),
          "a "
              + (name ? "name" : "number")
              + " of "
              + length
              + " characters; "
              + most
              + " are the most");
    }
  }

  /** Refuses {@code 2x} and {@code 1.5.2}: they are slips, not two words. */
  private static void refuseRunOn(String source, Token token, int end) {
    boolean number = token.kind() == Token.Kind.INTEGER || token.kind() == Token.Kind.DECIMAL;
    if (number && end < source.length()) {
      char next = source.charAt(end);
      if (next == '.' || next == '_' || Character.isLetterOrDigit(next)) {
        String hint = Character.isLetter(next) ? "; write '*' between a number and a name" : "";
        throw ExpressionException.at(
            source, end, "unexpected '" + next + "' after the number " + token.shown() + hint);
      }
    }
  }
}
