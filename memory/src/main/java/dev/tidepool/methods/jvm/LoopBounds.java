package dev.tidepool.methods.jvm;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Constant;
import dev.tidepool.methods.tree.KernelExpression.ScalarArgument;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Rewriter;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Walk;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The integer scalars of a kernel with which a loop compares; they usually determine the number of
 * rounds.
 *
 * <p>They often keep one value for as long as a program runs, such as the length of a vector. With
 * constants in their place, HotSpot knows the rounds of the loop, and generates less code before
 * and after the loop for each item.
 *
 * @param parameters their indices in ascending order
 */
record LoopBounds(List<Integer> parameters) {
  static LoopBounds of(KernelTree tree) {
    boolean[] found = new boolean[tree.parameters().size()];
    Walk.statements(
        tree.body(),
        statement -> {
          if (statement instanceof Statement.Loop loop) {
            Walk.statements(loop.body(), inner -> find(inner, found));
          }
        });
    return new LoopBounds(IntStream.range(0, found.length).filter(i -> found[i]).boxed().toList());
  }

  private static void find(Statement statement, boolean[] found) {
    if (statement instanceof Statement.If branch) {
      Walk.expressions(
          branch.condition(),
          part -> {
            if (part instanceof KernelExpression.Compare compare) {
              Walk.operands(compare).forEach(operand -> find(operand, found));
            }
          });
    }
  }

  private static void find(KernelExpression operand, boolean[] found) {
    if (operand instanceof ScalarArgument scalar
        && (scalar.type() == ValueType.INT || scalar.type() == ValueType.LONG)) {
      found[scalar.index()] = true;
    }
  }

  /** Returns the values of these scalars in a launch; an empty list if one is missing. */
  List<Long> values(KernelTree tree, @Nullable Object[] scalars) {
    List<Long> values = new ArrayList<>(parameters.size());
    for (int parameter : parameters) {
      Object value = scalars[parameter];
      if (value == null) {
        return List.of();
      }
      values.add(MemoryPlan.bits(tree.parameters().get(parameter).kind(), value));
    }
    return values;
  }

  /** Returns the kernel for launches with exactly these values. */
  KernelTree fixed(KernelTree tree, List<Long> values) {
    return tree.withBody(
        Rewriter.rewrite(
            tree.body(),
            List::of,
            part ->
                part instanceof ScalarArgument scalar && parameters.contains(scalar.index())
                    ? new Constant(scalar.type(), values.get(parameters.indexOf(scalar.index())))
                    : part),
        tree.variables(),
        tree.labels());
  }
}
