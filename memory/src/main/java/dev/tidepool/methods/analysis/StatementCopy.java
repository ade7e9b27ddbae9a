package dev.tidepool.methods.analysis;

import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Copies statements with new labels, and optionally without the tests of their indices. */
final class StatementCopy {
  private final Function<Statement, @Nullable KernelExpression> indices;
  private final Map<Statement.Label, Statement.Label> renamed = new HashMap<>();
  private int labels;

  /**
   * Creates a copier.
   *
   * @param labels ids in use are smaller
   * @param indices returns the index of a load or store that needs no test; null if the access
   *     keeps its index and its test
   */
  StatementCopy(int labels, Function<Statement, @Nullable KernelExpression> indices) {
    this.labels = labels;
    this.indices = indices;
  }

  /** Returns a number that is greater than the ids of all labels in use. */
  int labels() {
    return labels;
  }

  List<Statement> of(List<Statement> list) {
    List<Statement> copy = new ArrayList<>(list.size());
    list.forEach(statement -> copy.add(of(statement)));
    return copy;
  }

  private Statement of(Statement statement) {
    return switch (statement) {
      case Statement.Load load -> {
        KernelExpression index = indices.apply(load);
        yield index == null ? load : new Statement.Load(load.target(), load.array(), index, null);
      }
      case Statement.Store store -> {
        KernelExpression index = indices.apply(store);
        yield index == null
            ? store
            : new Statement.Store(store.array(), index, store.value(), null);
      }
      case Statement.If(KernelExpression condition, var then, var otherwise) ->
          new Statement.If(condition, of(then), of(otherwise));
      case Statement.Loop(Statement.Label label, var body) -> {
        Statement.Label own = own(label);
        yield new Statement.Loop(own, of(body));
      }
      case Statement.Block(Statement.Label label, var body) -> {
        Statement.Label own = own(label);
        yield new Statement.Block(own, of(body));
      }
      case Statement.Break(Statement.Label label) ->
          new Statement.Break(renamed.getOrDefault(label, label));
      case Statement.Continue(Statement.Label label) ->
          new Statement.Continue(renamed.getOrDefault(label, label));
      default -> statement;
    };
  }

  private Statement.Label own(Statement.Label label) {
    return renamed.computeIfAbsent(label, _ -> new Statement.Label(labels++));
  }
}
