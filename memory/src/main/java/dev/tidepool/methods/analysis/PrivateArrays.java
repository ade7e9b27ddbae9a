package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.Rewriter;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Assign;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * Replaces the elements of an item's own arrays by variables if all indices are known when the
 * kernel is translated. An example is an array of eight sums to which loops of eight rounds add,
 * after {@link ShortLoops} has unrolled the loops. HotSpot keeps such arrays in memory.
 */
public final class PrivateArrays {
  private static final int MOST_ELEMENTS = 16;

  private final Set<KernelArray> stay = new HashSet<>();
  private final Map<KernelArray, List<Variable>> elements = new HashMap<>();
  private int variables;

  /**
   * Creates a replacer that has recorded no statements yet.
   *
   * @param variables the variables of the kernel that are in use have smaller ids
   */
  public PrivateArrays(int variables) {
    this.variables = variables;
  }

  /** Records how statements use arrays. Record all statements of a kernel before replacing any. */
  public void note(List<Statement> list) {
    Walk.statements(
        list,
        statement -> {
          if (Walk.array(statement) instanceof KernelArray.Private array
              && !hasKnownIndex(statement, array.length())) {
            stay.add(array);
          }
        });
  }

  private static boolean hasKnownIndex(Statement statement, int length) {
    return length <= MOST_ELEMENTS
        && switch (statement) {
          case Statement.Load load -> isInside(load.index(), length);
          case Statement.Store store -> isInside(store.index(), length);
          case Statement.Clear _ -> true;
          default -> false;
        };
  }

  private static boolean isInside(KernelExpression index, int length) {
    Long value = ShortLoops.value(index);
    return value != null && value >= 0 && value < length;
  }

  /** Returns statements with variables in place of arrays. */
  public List<Statement> replaced(List<Statement> list) {
    return Rewriter.rewrite(list, this::replaced, UnaryOperator.identity());
  }

  private List<Statement> replaced(Statement statement) {
    if (!(Walk.array(statement) instanceof KernelArray.Private array) || stay.contains(array)) {
      return List.of(statement);
    }
    return switch (statement) {
      case Statement.Load load ->
          List.of(
              new Assign(load.target(), new KernelExpression.Read(element(array, load.index()))));
      case Statement.Store store ->
          List.of(new Assign(element(array, store.index()), narrowed(array.kind(), store.value())));
      case Statement.Clear _ ->
          elements(array).stream()
              .<Statement>map(element -> new Assign(element, new Constant(element.type(), 0)))
              .toList();
      default -> throw new IllegalStateException(statement.toString());
    };
  }

  private Variable element(KernelArray.Private array, KernelExpression index) {
    Long value = ShortLoops.value(index);
    if (value == null) {
      throw new IllegalStateException(index.toString());
    }
    return elements(array).get(value.intValue());
  }

  private List<Variable> elements(KernelArray.Private array) {
    return elements.computeIfAbsent(
        array,
        _ -> {
          List<Variable> made = new ArrayList<>(array.length());
          for (int i = 0; i < array.length(); i++) {
            made.add(new Variable(variables++, array.kind().loaded()));
          }
          return made;
        });
  }

  /** Returns a value narrowed as a store to an array element narrows it. */
  private static KernelExpression narrowed(ElementKind kind, KernelExpression value) {
    return switch (kind) {
      case BOOLEAN -> new KernelExpression.Binary(Operator.AND, value, Constant.of(1));
      case BYTE -> new KernelExpression.Convert(Conversion.I2B, value);
      case SHORT -> new KernelExpression.Convert(Conversion.I2S, value);
      default -> value;
    };
  }
}
