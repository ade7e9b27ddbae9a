package dev.tidepool.expression.types;

import dev.tidepool.KernelParameter;
import dev.tidepool.KernelParameter.Access;
import dev.tidepool.expression.syntax.ExpressionException;
import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.Parser;
import dev.tidepool.expression.syntax.Reduction;
import dev.tidepool.expression.syntax.ReductionParser;
import dev.tidepool.expression.syntax.Syntax;
import dev.tidepool.expression.syntax.Syntax.Apply;
import dev.tidepool.expression.syntax.Syntax.Assignment;
import dev.tidepool.expression.syntax.Syntax.Reference;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A parsed source of the elementwise language: its names and operations, without types. Immutable
 * and safe for use by all threads.
 */
public final class Expression {
  private final String text;
  private final String source;
  private final List<Reduction> reductions;
  private final List<Assignment> assignments;
  private final List<Name> names;

  /**
   * A name of an expression.
   *
   * @param name the name
   * @param access {@code IN}: only read, an array or a scalar; {@code INOUT}: first read and later
   *     assigned, an array; {@code OUT}: assigned before any read, an array or, if left unbound, a
   *     local value
   * @param line the line of its first appearance, from 1
   * @param column the column of its first appearance, from 1
   */
  public record Name(String name, Access access, int line, int column) {}

  private Expression(String text, String source, List<Reduction> reductions) {
    this.text = text;
    this.source = source;
    this.reductions = reductions;
    this.assignments = List.copyOf(Parser.parse(text, source));
    this.names = names(source, assignments);
  }

  /**
   * Parses {@code source}: assignments {@code name = expression}, separated by semicolons or line
   * ends.
   *
   * @throws ExpressionException if the source cannot be parsed
   */
  public static Expression parse(String source) {
    return new Expression(source, source, List.of());
  }

  /**
   * Parses a source that may contain reductions, too: assignments whose value is {@code sum(a)},
   * {@code min(a)}, {@code max(a)} or {@code mean(a)} of an elementwise {@code a}, or {@code
   * histogram(a, bins, low, high)}. Their names stand for {@code a} in {@link #source()} and {@link
   * #resolve}; the caller folds {@code a} as {@link #reductions()} says.
   *
   * @throws ExpressionException if the source cannot be parsed
   */
  public static Expression parseReducing(String source) {
    ReductionParser.Parsed parsed = ReductionParser.parse(source);
    return new Expression(source, parsed.elementwise(), parsed.reductions());
  }

  /** Returns the reductions of computed values, in the order of the source. */
  public List<Reduction> reductions() {
    return reductions;
  }

  /**
   * Returns whether every accelerator computes the same bits: the expression consists only of
   * arithmetic, which IEEE 754 rounds correctly, without functions that may differ in the last
   * places.
   */
  public boolean isExact() {
    return assignments.stream().allMatch(assignment -> isExact(assignment.value()));
  }

  private static boolean isExact(Syntax syntax) {
    return !(syntax instanceof Apply apply)
        || (apply.op().shape != Op.Shape.FUNCTION
            && apply.args().stream().allMatch(Expression::isExact));
  }

  /** Returns the text as it was written, including reductions, for messages. */
  String text() {
    return text;
  }

  /** Returns the elementwise source: the parsed text without its reductions. */
  public String source() {
    return source;
  }

  /** Returns every name once, in the order of their first appearance in the text. */
  public List<Name> names() {
    return names;
  }

  /**
   * Gives every name a type.
   *
   * @param operands the operands of the names; names that are assigned before they are read may be
   *     missing and are then local
   * @throws ExpressionException for a name that is read and not bound, for types that an operation
   *     does not take, and for a result that does not fit its array
   * @throws IllegalArgumentException if a bound name is not in the source, or if no assigned name
   *     is bound
   */
  public TypedProgram resolve(Map<String, Operand> operands) {
    return resolve(operands, "give it an array or a value");
  }

  /**
   * Like {@link #resolve(Map)}, but the message about a name that is not bound tells how the
   * caller's users bind one.
   */
  public TypedProgram resolve(Map<String, Operand> operands, String advice) {
    return Resolver.resolve(this, operands, advice);
  }

  /** Like {@link #resolve(Map)}, but takes the parameters of a kernel. */
  public TypedProgram resolve(List<KernelParameter> parameters) {
    Map<String, Operand> operands = new LinkedHashMap<>();
    parameters.forEach(parameter -> operands.put(parameter.name(), Operand.of(parameter)));
    return resolve(operands);
  }

  List<Assignment> assignments() {
    return assignments;
  }

  /** Returns the text for a message, shortened if it is long. */
  public String shown() {
    return ExpressionException.shortened(text.strip());
  }

  @Override
  public String toString() {
    return text;
  }

  private static List<Name> names(String source, List<Assignment> assignments) {
    Map<String, Access> access = new LinkedHashMap<>();
    Map<String, Integer> first = new LinkedHashMap<>();
    for (Assignment assignment : assignments) {
      first.merge(assignment.name(), assignment.position(), Math::min);
      read(assignment.value(), access, first);
      access.merge(
          assignment.name(), Access.OUT, (old, _) -> old == Access.IN ? Access.INOUT : old);
    }
    return first.entrySet().stream()
        .sorted((a, b) -> Integer.compare(a.getValue(), b.getValue()))
        .map(
            entry ->
                name(source, entry.getKey(), Known.in(access, entry.getKey()), entry.getValue()))
        .toList();
  }

  private static void read(Syntax syntax, Map<String, Access> access, Map<String, Integer> first) {
    if (syntax instanceof Reference(String name, int position)) {
      first.merge(name, position, Math::min);
      access.putIfAbsent(name, Access.IN);
    } else if (syntax instanceof Apply apply) {
      for (Syntax arg : apply.args()) {
        read(arg, access, first);
      }
    }
  }

  private static Name name(String source, String name, Access access, int position) {
    String before = source.substring(0, position);
    int line = 1 + (int) before.chars().filter(c -> c == '\n').count();
    return new Name(name, access, line, position - before.lastIndexOf('\n'));
  }
}
