package dev.tidepool.expression.types;

import dev.tidepool.KernelParameter.Access;
import dev.tidepool.expression.syntax.ExpressionException;
import dev.tidepool.expression.syntax.Node;
import dev.tidepool.expression.syntax.ScalarKind;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.syntax.Spelling;
import dev.tidepool.expression.syntax.Syntax;
import dev.tidepool.expression.syntax.Syntax.Apply;
import dev.tidepool.expression.syntax.Syntax.Assignment;
import dev.tidepool.expression.syntax.Syntax.Literal;
import dev.tidepool.expression.syntax.Syntax.Reference;
import dev.tidepool.expression.types.Expression.Name;
import dev.tidepool.expression.types.TypedProgram.ArrayParameter;
import dev.tidepool.expression.types.TypedProgram.Store;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Assigns types to an expression whose names are bound. Assignments are followed as in Python: each
 * binds its name to a new value, and the arrays receive the last values.
 */
final class Resolver {
  private final Expression expression;
  private final Map<String, Operand> operands;
  private final String advice;
  private final Promotion promotion;
  private final Map<String, Value> values = new HashMap<>();
  private final Map<String, Integer> arrayIndex = new LinkedHashMap<>();

  private Resolver(Expression expression, Map<String, Operand> operands, String advice) {
    this.expression = expression;
    this.operands = operands;
    this.advice = advice;
    this.promotion = new Promotion(expression.text());
  }

  static TypedProgram resolve(Expression expression, Map<String, Operand> operands, String advice) {
    return new Resolver(expression, Map.copyOf(operands), advice).program();
  }

  private TypedProgram program() {
    for (Name name : expression.names()) {
      bind(name);
    }
    checkNames();
    for (Assignment assignment : expression.assignments()) {
      assign(assignment);
    }
    List<ArrayParameter> arrays = new ArrayList<>();
    List<Store> stores = new ArrayList<>();
    for (Name name : expression.names()) {
      Integer index = arrayIndex.get(name.name());
      if (index == null) {
        continue;
      }
      if (name.access().writes()) {
        Node stored = ((Value.Typed) Known.in(values, name.name())).node();
        stores.add(new Store(index, stored));
        arrays.add(new ArrayParameter(name.name(), stored.type(), name.access()));
      } else {
        ScalarType type = ((Operand.Array) Known.in(operands, name.name())).type();
        arrays.add(new ArrayParameter(name.name(), type, Access.IN));
      }
    }
    return new TypedProgram(expression, arrays, promotion.uniforms(), promotion.weak(), stores);
  }

  private void checkNames() {
    List<String> known = expression.names().stream().map(Name::name).toList();
    for (String name : operands.keySet()) {
      if (!known.contains(name)) {
        throw new IllegalArgumentException(
            "'"
                + name
                + "' is bound, but '"
                + expression.shown()
                + "' has only "
                + ExpressionException.shortened(String.join(", ", known)));
      }
    }
    List<String> outputs =
        expression.names().stream().filter(name -> name.access().writes()).map(Name::name).toList();
    if (outputs.stream().noneMatch(operands::containsKey)) {
      throw new IllegalArgumentException(
          "nothing would be written: give an array or a buffer for "
              + ExpressionException.shortened(String.join(" or ", outputs)));
    }
  }

  private void bind(Name name) {
    Operand operand = operands.get(name.name());
    int position = position(name);
    if (operand == null) {
      if (name.access().reads()) {
        throw error(position, "unknown name '" + name.name() + "'" + adviceFor(name.name()));
      }
    } else if (operand instanceof Operand.Array(ScalarType type)) {
      int index = arrayIndex.size();
      arrayIndex.put(name.name(), index);
      if (name.access().reads()) {
        values.put(name.name(), new Value.Typed(promotion.load(index, type)));
      }
    } else if (operand instanceof Operand.Scalar(ScalarKind kind)) {
      if (name.access().writes()) {
        throw error(
            position, "'" + name.name() + "' is assigned, so it needs an array, not a scalar");
      }
      values.put(name.name(), new Value.Weak(promotion.parameter(name.name(), kind)));
    } else {
      if (name.access().reads()) {
        throw error(position, "'" + name.name() + "' is read, so it needs an array that exists");
      }
      arrayIndex.put(name.name(), arrayIndex.size());
    }
  }

  private String adviceFor(String name) {
    List<String> candidates = new ArrayList<>(operands.keySet());
    expression.names().stream()
        .filter(other -> other.access() == Access.OUT)
        .forEach(other -> candidates.add(other.name()));
    String suggestion = Spelling.suggestion(name, candidates);
    return suggestion.isEmpty() ? "; " + advice : suggestion;
  }

  private int position(Name name) {
    int start = 0;
    for (int line = 1; line < name.line(); line++) {
      start = expression.source().indexOf('\n', start) + 1;
    }
    return start + name.column() - 1;
  }

  private void assign(Assignment assignment) {
    Value value = value(assignment.value());
    int position = assignment.value().position();
    Operand operand = operands.get(assignment.name());
    if (operand == null) {
      values.put(assignment.name(), value);
      return;
    }
    ScalarType type = promotion.naturalType(value);
    Node stored =
        operand instanceof Operand.Array array
            ? promotion.store(value, array.type(), assignment.name(), position)
            : promotion.strong(value, type, position);
    values.put(assignment.name(), new Value.Typed(stored));
  }

  private Value value(Syntax syntax) {
    if (syntax instanceof Literal literal) {
      return new Value.Weak(promotion.literal(literal.value()));
    }
    if (syntax instanceof Reference reference) {
      return Known.in(values, reference.name());
    }
    Apply apply = (Apply) syntax;
    // A plain loop: the recursion is as deep as the tree is high.
    List<Value> found = new ArrayList<>(apply.args().size());
    for (Syntax arg : apply.args()) {
      found.add(value(arg));
    }
    return promotion.apply(apply.op(), found, apply.position());
  }

  private ExpressionException error(int position, String problem) {
    return ExpressionException.at(expression.text(), position, problem);
  }
}
