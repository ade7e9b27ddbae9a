package dev.tidepool.expression.syntax;

import dev.tidepool.expression.syntax.Reduction.Kind;
import dev.tidepool.expression.syntax.Reduction.Setting;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Finds the reductions of a source and removes them. The rest is a source of the elementwise
 * language of the same length, in which every character keeps its position: {@code s = sum(x*x)}
 * becomes {@code s = (x*x)}, so that {@code s} is the value to be folded.
 */
public final class ReductionParser {
  private final String source;
  private final List<Token> tokens;
  private final StringBuilder elementwise;
  private final List<Reduction> reductions = new ArrayList<>();

  private ReductionParser(String source) {
    this.source = source;
    this.tokens = Lexer.tokens(source);
    this.elementwise = new StringBuilder(source);
  }

  /** The source without its reductions, and the reductions. */
  public record Parsed(String elementwise, List<Reduction> reductions) {}

  public static Parsed parse(String source) {
    ReductionParser parser = new ReductionParser(source);
    int start = 0;
    for (int i = 0; i < parser.tokens.size(); i++) {
      Token.Kind kind = parser.tokens.get(i).kind();
      if (kind == Token.Kind.SEPARATOR || kind == Token.Kind.END) {
        parser.assignment(start, i);
        start = i + 1;
      }
    }
    return new Parsed(parser.elementwise.toString(), List.copyOf(parser.reductions));
  }

  /** Removes the reduction from an assignment {@code name = function ( ... )}; ignores others. */
  private void assignment(int start, int end) {
    if (end - start < 5
        || tokens.get(start).kind() != Token.Kind.NAME
        || !tokens.get(start + 1).is("=")
        || tokens.get(start + 2).kind() != Token.Kind.NAME
        || !tokens.get(start + 3).is("(")) {
      return;
    }
    Token function = tokens.get(start + 2);
    Optional<Kind> kind = Kind.of(function.text());
    List<Integer> ends = argumentEnds(start + 3, end);
    if (kind.isPresent() && ends.isEmpty()) {
      throw error(tokens.get(end), "a ')' is missing before " + tokens.get(end).described());
    }
    if (kind.isEmpty() || ends.getLast() != end - 1) {
      return;
    }
    int given = end - start == 5 ? 0 : ends.size();
    if (given != kind.get().arity) {
      if (Op.FUNCTIONS.containsKey(function.text())) {
        return; // min and max of two arrays, element by element.
      }
      throw error(function, wrongCount(kind.get(), given));
    }
    List<Setting> settings = new ArrayList<>();
    for (int i = 1; i < ends.size(); i++) {
      settings.add(setting(ends.get(i - 1) + 1, ends.get(i)));
    }
    checkUsedOnce(tokens.get(start));
    blank(function.position(), function.position() + function.text().length());
    blank(tokens.get(ends.getFirst()).position(), tokens.get(end - 1).position());
    reductions.add(new Reduction(tokens.get(start).text(), kind.get(), settings));
  }

  private static String wrongCount(Kind kind, int given) {
    String takes =
        kind == Kind.HISTOGRAM
            ? "4 arguments, an array, the number of bins, the lowest and the highest value"
            : "1 argument";
    String axis = kind != Kind.HISTOGRAM && given > 1 ? " (an axis is an option of eval)" : "";
    return "'" + kind.functionName() + "' takes " + takes + ", not " + given + axis;
  }

  /**
   * Returns the tokens that end an argument: commas, and the closing parenthesis; an empty list if
   * that is missing.
   */
  private List<Integer> argumentEnds(int open, int end) {
    List<Integer> ends = new ArrayList<>();
    int depth = 0;
    for (int i = open; i < end; i++) {
      Token token = tokens.get(i);
      depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
      if (depth == 0 || (depth == 1 && token.is(","))) {
        ends.add(i);
      }
      if (depth == 0) {
        return ends;
      }
    }
    return List.of();
  }

  private Setting setting(int from, int to) {
    Token first = tokens.get(from);
    boolean signed = first.is("-") || first.is("+");
    Token number = tokens.get(signed ? from + 1 : from);
    boolean single = to - from == (signed ? 2 : 1);
    if (single && (number.kind() == Token.Kind.INTEGER || number.kind() == Token.Kind.DECIMAL)) {
      return Reduction.literal((first.is("-") ? "-" : "") + number.text());
    }
    if (single && !signed && number.kind() == Token.Kind.NAME) {
      return new Setting(number.text(), null);
    }
    throw error(first, "a number or the name of a scalar was expected");
  }

  private void checkUsedOnce(Token target) {
    for (int i = 0; i < tokens.size(); i++) {
      Token token = tokens.get(i);
      if (token.kind() == Token.Kind.NAME
          && token.text().equals(target.text())
          && token.position() != target.position()
          && !tokens.get(i + 1).is("(")) { // A function may have the same name.
        throw error(
            token,
            "'"
                + target.text()
                + "' is made of all elements, so its value is known only when all were read:"
                + " nothing else of the expression can use the name");
      }
    }
  }

  private void blank(int from, int to) {
    for (int i = from; i < to; i++) {
      if (!Character.isWhitespace(elementwise.charAt(i))) {
        elementwise.setCharAt(i, ' ');
      }
    }
  }

  private ExpressionException error(Token token, String problem) {
    return ExpressionException.at(source, token.position(), problem);
  }
}
