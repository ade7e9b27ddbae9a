package dev.tidepool.methods.tree;

import dev.tidepool.methods.tree.KernelExpression.Binary;
import dev.tidepool.methods.tree.KernelExpression.Call;
import dev.tidepool.methods.tree.KernelExpression.Compare;
import dev.tidepool.methods.tree.KernelExpression.Convert;
import dev.tidepool.methods.tree.KernelExpression.Negate;
import dev.tidepool.methods.tree.KernelExpression.Order;
import dev.tidepool.methods.tree.Statement.Assign;
import dev.tidepool.methods.tree.Statement.Atomic;
import dev.tidepool.methods.tree.Statement.Block;
import dev.tidepool.methods.tree.Statement.Divide;
import dev.tidepool.methods.tree.Statement.If;
import dev.tidepool.methods.tree.Statement.Load;
import dev.tidepool.methods.tree.Statement.Loop;
import dev.tidepool.methods.tree.Statement.Store;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Creates changed copies of trees. */
public final class Rewriter {
  private Rewriter() {}

  /**
   * Changes statements and expressions.
   *
   * @param replacement returns the replacement of a statement whose parts have been changed already
   * @param change returns the replacement of an expression whose parts have been changed already
   */
  public static List<Statement> rewrite(
      List<Statement> statements,
      Function<Statement, List<Statement>> replacement,
      UnaryOperator<KernelExpression> change) {
    List<Statement> changed = new ArrayList<>();
    for (Statement statement : statements) {
      changed.addAll(replacement.apply(rewritten(statement, replacement, change)));
    }
    return changed;
  }

  private static Statement rewritten(
      Statement statement,
      Function<Statement, List<Statement>> replacement,
      UnaryOperator<KernelExpression> change) {
    return switch (statement) {
      case Assign(Variable target, KernelExpression value) ->
          new Assign(target, rewrite(value, change));
      case Load load ->
          new Load(load.target(), load.array(), rewrite(load.index(), change), load.site());
      case Store store ->
          new Store(
              store.array(),
              rewrite(store.index(), change),
              rewrite(store.value(), change),
              store.site());
      case Divide divide ->
          new Divide(
              divide.target(),
              divide.isRemainder(),
              rewrite(divide.dividend(), change),
              rewrite(divide.divisor(), change),
              divide.site());
      case Atomic atomic -> {
        @Nullable KernelExpression expected = atomic.expected();
        yield new Atomic(
            atomic.target(),
            atomic.operation(),
            atomic.array(),
            rewrite(atomic.index(), change),
            expected == null ? null : rewrite(expected, change),
            rewrite(atomic.value(), change),
            atomic.site());
      }
      case If branch ->
          new If(
              rewrite(branch.condition(), change),
              rewrite(branch.then(), replacement, change),
              rewrite(branch.otherwise(), replacement, change));
      case Loop loop -> new Loop(loop.label(), rewrite(loop.body(), replacement, change));
      case Block block -> new Block(block.label(), rewrite(block.body(), replacement, change));
      default -> statement;
    };
  }

  /** Changes an expression: its parts first, then itself. */
  public static KernelExpression rewrite(
      KernelExpression expression, UnaryOperator<KernelExpression> change) {
    KernelExpression inner =
        switch (expression) {
          case Negate negate -> new Negate(rewrite(negate.operand(), change));
          case Convert convert ->
              new Convert(convert.conversion(), rewrite(convert.operand(), change));
          case Binary binary ->
              new Binary(
                  binary.operator(),
                  rewrite(binary.left(), change),
                  rewrite(binary.right(), change));
          case Compare compare ->
              new Compare(
                  compare.comparison(),
                  rewrite(compare.left(), change),
                  rewrite(compare.right(), change),
                  compare.negated());
          case Order order ->
              new Order(
                  rewrite(order.left(), change), rewrite(order.right(), change), order.unordered());
          case Call call ->
              new Call(
                  call.function(),
                  call.arguments().stream().map(argument -> rewrite(argument, change)).toList());
          case KernelExpression.Constant _,
              KernelExpression.Read _,
              KernelExpression.ScalarArgument _,
              KernelExpression.ItemNumber _,
              KernelExpression.Length _ ->
              expression;
        };
    return change.apply(inner);
  }
}
