package dev.tidepool.expression.syntax;

import dev.tidepool.expression.syntax.Syntax.Apply;
import dev.tidepool.expression.syntax.Syntax.Assignment;
import dev.tidepool.expression.syntax.Syntax.Literal;
import dev.tidepool.expression.syntax.Syntax.Reference;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A recursive descent parser. Precedence is Python's, so that NumPy expressions keep their meaning:
 * {@code &}, {@code ^} and {@code |} bind tighter than comparisons, {@code **} tighter than the
 * minus before it and to the right. {@code !}, {@code &&}, {@code ||} and {@code ?:} are as in C.
 */
public final class Parser {
  /** The greatest height of a tree: trees are visited recursively. */
  private static final int MAX_HEIGHT = 1000;

  /** The deepest nesting of parentheses; each level takes a dozen frames of the parser's stack. */
  private static final int MAX_DEPTH = 150;

  /** From the loosest to the tightest; each level is left associative. */
  private static final List<Map<String, Op>> BINARY_LEVELS =
      List.of(
          Map.of("||", Op.LOGICAL_OR),
          Map.of("&&", Op.LOGICAL_AND),
          Map.of(
              "<", Op.LESS,
              "<=", Op.LESS_EQUAL,
              ">", Op.GREATER,
              ">=", Op.GREATER_EQUAL,
              "==", Op.EQUAL,
              "!=", Op.NOT_EQUAL),
          Map.of("|", Op.BIT_OR),
          Map.of("^", Op.BIT_XOR),
          Map.of("&", Op.BIT_AND),
          Map.of("<<", Op.SHIFT_LEFT, ">>", Op.SHIFT_RIGHT),
          Map.of("+", Op.ADD, "-", Op.SUBTRACT),
          Map.of("*", Op.MULTIPLY, "/", Op.DIVIDE, "//", Op.FLOOR_DIVIDE, "%", Op.REMAINDER));

  private static final Map<String, Op> PREFIXES =
      Map.of("-", Op.NEGATE, "!", Op.NOT, "~", Op.INVERT);

  /** NumPy's reductions that this language lacks. */
  private static final Set<String> OTHER_REDUCTIONS =
      Set.of(
          "all",
          "any",
          "argmax",
          "argmin",
          "average",
          "bincount",
          "count_nonzero",
          "cumprod",
          "cumsum",
          "dot",
          "median",
          "nanmax",
          "nanmean",
          "nanmin",
          "nanstd",
          "nansum",
          "norm",
          "percentile",
          "prod",
          "ptp",
          "quantile",
          "std",
          "var");

  private static final String WHERE_REDUCED =
      "pipelines and eval take it, as the whole of an assignment, such as 's = sum(x*x)'";

  private final String text;
  private final List<Token> tokens;
  private int next;
  private int depth;

  private Parser(String text, String source) {
    this.text = text;
    this.tokens = Lexer.tokens(source);
  }

  /** Parses {@code source}; errors show the same position in {@code text}. */
  public static List<Assignment> parse(String text, String source) {
    return new Parser(text, source).assignments();
  }

  private List<Assignment> assignments() {
    List<Assignment> assignments = new ArrayList<>();
    while (peek().kind() != Token.Kind.END) {
      if (peek().kind() == Token.Kind.SEPARATOR) {
        next++;
        continue;
      }
      assignments.add(assignment());
      Token after = peek();
      if (after.kind() != Token.Kind.SEPARATOR && after.kind() != Token.Kind.END) {
        throw error(after, "unexpected " + after.described() + hintAfterExpression(after));
      }
    }
    if (assignments.isEmpty()) {
      throw error(peek(), "the expression is empty; write an assignment such as 'y = 2*x'");
    }
    return assignments;
  }

  private static String hintAfterExpression(Token token) {
    if (token.is("=")) {
      return "; '==' compares";
    }
    return switch (token.text()) {
      case "and" -> "; write '&&'";
      case "or" -> "; write '||'";
      default -> token.kind() == Token.Kind.NAME || token.is("(") ? "; an operator is missing" : "";
    };
  }

  private Assignment assignment() {
    Token name = take();
    if (name.kind() != Token.Kind.NAME || !peek().is("=")) {
      throw error(name, "an assignment 'name = expression' was expected");
    }
    if (name.text().equals("true") || name.text().equals("false")) {
      throw error(name, "'" + name.text() + "' is a value and can't be assigned");
    }
    if (Op.FUNCTIONS.containsKey(name.text())) {
      throw error(name, "'" + name.text() + "' is a function and can't be assigned");
    }
    next++;
    return new Assignment(name.text(), expression(), name.position());
  }

  private Syntax expression() {
    Token start = peek();
    if (++depth > MAX_DEPTH) {
      throw tooDeep(start.position(), MAX_DEPTH + " parentheses stand within each other");
    }
    Syntax condition = binary(0);
    Syntax result = condition;
    if (peek().is("?")) {
      Token question = take();
      Syntax yes = expression();
      expect(":", "the ':' of '?' is missing");
      result = apply(Op.SELECT, List.of(condition, yes, expression()), question.position());
    }
    depth--;
    return result;
  }

  private Syntax binary(int level) {
    if (level == BINARY_LEVELS.size()) {
      return prefix();
    }
    Syntax left = binary(level + 1);
    boolean compared = false;
    while (true) {
      Token operator = peek();
      Op op = operatorIn(level, operator);
      if (op == null) {
        return left;
      }
      if (compared) {
        throw error(operator, "comparisons don't chain; join two of them with '&&'");
      }
      compared = op.isComparison();
      next++;
      left = apply(op, List.of(left, binary(level + 1)), operator.position());
    }
  }

  private static @Nullable Op operatorIn(int level, Token token) {
    return token.kind() == Token.Kind.SYMBOL ? BINARY_LEVELS.get(level).get(token.text()) : null;
  }

  private Syntax prefix() {
    Token token = peek();
    if (token.is("+")) {
      next++;
      return nested(token);
    }
    Op op = token.kind() == Token.Kind.SYMBOL ? PREFIXES.get(token.text()) : null;
    if (op == null) {
      return power();
    }
    next++;
    Syntax operand = nested(token);
    if (op == Op.NEGATE && operand instanceof Literal(BigInteger value, _)) {
      return new Literal(value.negate(), token.position());
    }
    return apply(op, List.of(operand), token.position());
  }

  private Syntax nested(Token start) {
    if (++depth > MAX_DEPTH) {
      throw tooDeep(start.position(), MAX_DEPTH + " signs stand before each other");
    }
    Syntax operand = prefix();
    depth--;
    return operand;
  }

  private Syntax power() {
    Syntax base = primary();
    Token operator = peek();
    if (!operator.is("**")) {
      return base;
    }
    next++;
    return apply(Op.POW, List.of(base, nested(operator)), operator.position());
  }

  private Syntax primary() {
    Token token = take();
    return switch (token.kind()) {
      case INTEGER -> new Literal(new BigInteger(token.text()), token.position());
      case DECIMAL -> new Literal(Double.valueOf(token.text()), token.position());
      case NAME -> named(token);
      default -> {
        if (token.is("(")) {
          Syntax inner = expression();
          expect(")", "a ')' is missing");
          yield inner;
        }
        throw error(token, "a value was expected, not " + token.described());
      }
    };
  }

  private Syntax named(Token name) {
    if (peek().is("(")) {
      return call(name);
    }
    if (Op.FUNCTIONS.containsKey(name.text())) {
      throw error(name, "the function '" + name.text() + "' needs its arguments in parentheses");
    }
    return switch (name.text()) {
      case "true" -> new Literal(true, name.position());
      case "false" -> new Literal(false, name.position());
      default -> new Reference(name.text(), name.position());
    };
  }

  private Syntax call(Token name) {
    Op op = Op.FUNCTIONS.get(name.text());
    if (op == null) {
      throw error(
          name,
          Reduction.Kind.of(name.text()).isPresent()
              ? "'" + name.text() + "' makes one value of all elements; " + WHERE_REDUCED
              : "unknown function '" + name.text() + "'" + hintForUnknown(name.text()));
    }
    next++;
    List<Syntax> args = new ArrayList<>();
    if (!peek().is(")")) {
      args.add(expression());
      while (peek().is(",")) {
        next++;
        args.add(expression());
      }
    }
    expect(")", "a ')' is missing");
    if (args.size() != op.arity) {
      throw error(
          name,
          "'"
              + name.text()
              + "' takes "
              + op.arity
              + (op.arity == 1 ? " argument" : " arguments")
              + ", not "
              + args.size()
              + (args.size() == 1 && Reduction.Kind.of(name.text()).isPresent()
                  ? "; with one it makes one value of all elements, and " + WHERE_REDUCED
                  : ""));
    }
    return apply(op, args, name.position());
  }

  private static String hintForUnknown(String function) {
    if (OTHER_REDUCTIONS.contains(function)) {
      return "; the reductions that pipelines and eval take are " + Reduction.Kind.list();
    }
    Set<String> known = new HashSet<>(Op.FUNCTIONS.keySet());
    known.addAll(Reduction.Kind.names());
    String suggestion = Spelling.suggestion(function, known);
    return suggestion.isEmpty()
        ? "; the functions are " + String.join(", ", new TreeSet<>(Op.FUNCTIONS.keySet()))
        : suggestion;
  }

  private Apply apply(Op op, List<Syntax> args, int position) {
    int height = 1;
    for (Syntax arg : args) {
      height = Math.max(height, arg.height() + 1);
    }
    if (height > MAX_HEIGHT) {
      throw tooDeep(position, MAX_HEIGHT + " operations depend on each other");
    }
    return new Apply(op, List.copyOf(args), position, height);
  }

  private ExpressionException tooDeep(int position, String what) {
    return ExpressionException.at(
        text, position, "more than " + what + "; assign parts to names of their own");
  }

  private Token peek() {
    return tokens.get(next);
  }

  private Token take() {
    Token token = tokens.get(next);
    if (token.kind() != Token.Kind.END) {
      next++;
    }
    return token;
  }

  private void expect(String symbol, String problem) {
    Token token = peek();
    if (!token.is(symbol)) {
      throw error(token, problem + " before " + token.described());
    }
    next++;
  }

  private ExpressionException error(Token token, String problem) {
    return ExpressionException.at(text, token.position(), problem);
  }
}
