package dev.tidepool.methods.analysis;

import dev.tidepool.expression.types.Known;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.Rewriter;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Assign;
import dev.tidepool.methods.tree.Statement.Block;
import dev.tidepool.methods.tree.Statement.Continue;
import dev.tidepool.methods.tree.Statement.If;
import dev.tidepool.methods.tree.Statement.Loop;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import dev.tidepool.methods.tree.Walk;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Unrolls loops with few rounds whose number is known when the kernel is translated, such as loops
 * over the neighbours of a pixel. The loop's variable is a constant in each round.
 *
 * <p>HotSpot's compiler unrolls such loops only if the body is short, and the code of an access to
 * off-heap memory is long: a blur of 3 x 3 pixels with conditions for the borders took four times
 * as long.
 */
public final class ShortLoops {
  private static final int MOST_ROUNDS = 8;

  /** The most statements and parts of expressions that are added to a kernel. */
  private static final int MOST_ADDED = 1000;

  private int labels;
  private int loops;
  private int room = MOST_ADDED;

  /**
   * Creates an instance that has unrolled nothing yet.
   *
   * @param labels the labels of the kernel that are in use have smaller ids
   */
  public ShortLoops(int labels) {
    this.labels = labels;
  }

  /** Returns a number that is greater than the ids of all labels in use. */
  public int labels() {
    return labels;
  }

  /** Returns how many loops have been unrolled. */
  public int loops() {
    return loops;
  }

  /** Returns statements with such loops unrolled, inner loops before outer ones. */
  public List<Statement> writtenOut(List<Statement> list) {
    return writtenOut(list, List.of());
  }

  /**
   * Unrolls loops.
   *
   * @param before the statements that are known to be executed before the given ones
   */
  private List<Statement> writtenOut(List<Statement> list, List<Statement> before) {
    List<Statement> all = new ArrayList<>(before);
    for (Statement statement : list) {
      all.add(
          switch (statement) {
            case If(KernelExpression condition, var then, var otherwise) ->
                new If(condition, writtenOut(then, all), writtenOut(otherwise, all));
            case Block(Statement.Label label, var body) -> new Block(label, writtenOut(body, all));
            case Loop(Statement.Label label, var body) ->
                writtenOut(new Loop(label, writtenOut(body)), all);
            default -> statement;
          });
    }
    return List.copyOf(all.subList(before.size(), all.size()));
  }

  /**
   * Unrolls a loop if it is short and contains no loops.
   *
   * @param before the statements that are known to be executed before the loop
   */
  private Statement writtenOut(Loop loop, List<Statement> before) {
    CountedLoop counted = CountedLoop.of(loop);
    if (counted == null
        || Walk.any(loop, new Continue(loop.label())::equals)
        || Walk.any(loop.body(), Loop.class::isInstance)) {
      return loop;
    }
    Long from = valueAfter(before, counted.variable());
    if (from == null) {
      return loop;
    }
    int rounds = rounds(counted, from);
    int added = rounds < 0 ? -1 : added(loop, rounds);
    if (added < 0) {
      return loop;
    }
    room -= added;
    loops++;
    List<Statement> body = new ArrayList<>();
    for (int i = 0; i < rounds; i++) {
      addRound(counted, from + (long) i * counted.step(), body);
    }
    // What the loop does when its test fails: it breaks, perhaps to a place further out.
    If exit = (If) loop.body().getFirst();
    body.addAll(exit.then().isEmpty() ? exit.otherwise() : exit.then());
    return new Block(loop.label(), body);
  }

  /** Returns the value of a variable after statements; null if the value is not known. */
  private static @Nullable Long valueAfter(List<Statement> list, Variable variable) {
    for (Statement statement : list.reversed()) {
      if (statement instanceof Assign(Variable target, KernelExpression value)
          && target.equals(variable)) {
        return value(value);
      }
      if (Walk.any(statement, part -> variable.equals(Walk.target(part)))) {
        return null;
      }
    }
    return null;
  }

  /** Returns the number of rounds of a loop; -1 if it is not known or too large. */
  private static int rounds(CountedLoop counted, long from) {
    Long last = value(counted.last());
    if (last == null) {
      return -1;
    }
    int rounds = 0;
    long at = from;
    while (counted.step() > 0 ? at <= last : at >= last) {
      at += counted.step();
      rounds++;
      if (rounds > MOST_ROUNDS || at != (int) at) {
        return -1;
      }
    }
    return rounds;
  }

  /** Returns how much a kernel grows if a loop is unrolled; -1 if that is too much. */
  private int added(Loop loop, int rounds) {
    int most = room / Math.max(1, rounds);
    int[] size = {0};
    boolean exceeds =
        Walk.any(
            loop.body(),
            statement ->
                ++size[0] > most
                    || Walk.expressions(statement).stream()
                        .anyMatch(value -> Walk.any(value, _ -> ++size[0] > most)));
    return exceeds ? -1 : size[0] * rounds;
  }

  /**
   * Adds a round. Reads of variables that are constant in the round, the loop's variable first,
   * become constants.
   */
  private void addRound(CountedLoop counted, long value, List<Statement> body) {
    List<Statement> all = counted.loop().body();
    StatementCopy copy = new StatementCopy(labels, _ -> null);
    Map<Variable, Constant> known = new HashMap<>();
    known.put(counted.variable(), Constant.of((int) value));
    for (Statement statement : copy.of(all.subList(1, all.size()))) {
      Walk.parts(statement)
          .forEach(part -> Walk.statements(part, inner -> known.remove(Walk.target(inner))));
      for (Statement replaced : withConstants(statement, known)) {
        Constant constant =
            replaced instanceof Assign(_, KernelExpression assigned) ? constant(assigned) : null;
        Variable target = Walk.target(replaced);
        if (target != null && constant != null) {
          known.put(target, constant);
          body.add(new Assign(target, constant));
        } else {
          known.remove(target);
          body.add(replaced);
        }
      }
    }
    labels = copy.labels();
  }

  private static List<Statement> withConstants(Statement statement, Map<Variable, Constant> known) {
    return Rewriter.rewrite(
        List.of(statement),
        List::of,
        part ->
            part instanceof KernelExpression.Read(Variable read) && known.containsKey(read)
                ? Known.in(known, read)
                : part);
  }

  private static @Nullable Constant constant(KernelExpression value) {
    if (value instanceof Constant constant) {
      return constant;
    }
    Long known = value.type().isFloating() ? null : value(value);
    if (known == null) {
      return null;
    }
    return value.type() == ValueType.LONG ? Constant.of(known) : Constant.of(known.intValue());
  }

  /** Returns the value of an int or long; null if it is not a constant. */
  static @Nullable Long value(KernelExpression expression) {
    Long value =
        switch (expression) {
          case Constant constant -> constant.bits();
          case KernelExpression.Convert(Conversion conversion, var operand)
              when conversion == Conversion.I2L ->
              value(operand);
          case KernelExpression.Negate(var operand) -> difference(0L, value(operand));
          case KernelExpression.Binary(Operator operator, var left, var right)
              when operator == Operator.ADD ->
              difference(value(left), difference(0L, value(right)));
          case KernelExpression.Binary(Operator operator, var left, var right)
              when operator == Operator.SUBTRACT ->
              difference(value(left), value(right));
          default -> null;
        };
    if (value == null || expression.type() == ValueType.LONG) {
      return value;
    }
    int wrapped = value.intValue();
    return (long) wrapped;
  }

  private static @Nullable Long difference(@Nullable Long left, @Nullable Long right) {
    return left == null || right == null ? null : left - right;
  }
}
