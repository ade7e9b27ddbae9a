package dev.tidepool.methods.jvm;

import static dev.tidepool.methods.tree.TreeBuilder.add;
import static dev.tidepool.methods.tree.TreeBuilder.assign;
import static dev.tidepool.methods.tree.TreeBuilder.constant;
import static dev.tidepool.methods.tree.TreeBuilder.index;
import static dev.tidepool.methods.tree.TreeBuilder.multiply;
import static dev.tidepool.methods.tree.TreeBuilder.read;

import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.TreeBuilder;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.util.ArrayList;
import java.util.List;

/** {@code scores[row]} is the sum of {@code rows[row * dims + d] * query[d]}. */
final class DotTree {
  private DotTree() {}

  static KernelTree of(
      TreeBuilder tree,
      KernelExpression dims,
      KernelArray rows,
      KernelArray query,
      KernelArray scores) {
    Variable row = tree.variable(ValueType.INT);
    ValueType type = rows.kind().loaded();
    Variable sum = tree.variable(type);
    Variable d = tree.variable(ValueType.INT);
    Variable left = tree.variable(type);
    Variable right = tree.variable(type);
    List<Statement> body = new ArrayList<>();
    body.add(assign(row, index()));
    body.add(assign(sum, new KernelExpression.Constant(type, 0)));
    body.addAll(
        tree.loop(
            d,
            constant(0),
            dims,
            1,
            List.of(
                tree.load(left, rows, add(multiply(read(row), dims), read(d))),
                tree.load(right, query, read(d)),
                assign(sum, add(read(sum), multiply(read(left), read(right)))))));
    body.add(tree.store(scores, read(row), read(sum)));
    return tree.build(body);
  }
}
