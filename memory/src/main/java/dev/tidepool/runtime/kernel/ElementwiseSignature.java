package dev.tidepool.runtime.kernel;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelParameter.Access;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.expression.types.Expression;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The signature of an expression. Its types are those of the arguments. */
final class ElementwiseSignature implements Signature {
  private final Expression expression;

  /** The parameters of the last call: most calls are like the one before. */
  private volatile @Nullable List<KernelParameter> last;

  /** The range of the last call. */
  private volatile @Nullable LaunchRange lastRange;

  ElementwiseSignature(Expression expression) {
    this.expression = expression;
  }

  @Override
  public List<KernelParameter> parameters(Arguments arguments, @Nullable LaunchRange asked) {
    List<KernelParameter> known = last;
    if (known != null && fit(known, arguments.values())) {
      return known;
    }
    List<KernelParameter> found = resolved(arguments);
    last = found;
    return found;
  }

  @Override
  public Arguments named(Arguments arguments) {
    throw new IllegalArgumentException(
        "the names of an expression have no order; pass Arguments.of(name, value, ...)");
  }

  @Override
  public Object scalar(KernelParameter parameter, Object value) {
    return value;
  }

  private static boolean fit(List<KernelParameter> parameters, Map<String, Object> values) {
    if (parameters.size() != values.size()) {
      return false;
    }
    for (KernelParameter parameter : parameters) {
      Object value = values.get(parameter.name());
      if (value == null
          || isScalar(value) == parameter.access().isArray()
          || !typeOf(value).equals(parameter.type())) {
        return false;
      }
    }
    return true;
  }

  private List<KernelParameter> resolved(Arguments arguments) {
    List<KernelParameter> parameters = new ArrayList<>();
    Set<String> unknown = new LinkedHashSet<>(arguments.values().keySet());
    expression.names().forEach(name -> unknown.remove(name.name()));
    for (Expression.Name name : expression.names()) {
      Object value = arguments.values().get(name.name());
      if (value != null) {
        parameters.add(parameter(name, value));
      } else if (name.access() != Access.OUT) {
        throw new IllegalArgumentException(
            "argument '"
                + name.name()
                + "' is missing; '"
                + expression.shown()
                + "' reads it"
                + (unknown.isEmpty() ? "" : ", and has no " + unknown));
      }
    }
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          "'"
              + expression.shown()
              + "' has no "
              + unknown
              + "; it names "
              + expression.names().stream().map(Expression.Name::name).toList());
    }
    // Reports missing names and incompatible types now, not on another thread.
    Objects.requireNonNull(expression.resolve(parameters));
    return List.copyOf(parameters);
  }

  private static KernelParameter parameter(Expression.Name name, Object value) {
    ElementType<?> type = typeOf(value);
    boolean isScalar = isScalar(value);
    if (isScalar && name.access() != Access.IN) {
      throw new IllegalArgumentException(
          "'" + name.name() + "' is assigned, so it must be a buffer or an array, not " + value);
    }
    return new KernelParameter(name.name(), isScalar ? Access.SCALAR : name.access(), type);
  }

  private static boolean isScalar(Object value) {
    return value instanceof Number || value instanceof Boolean;
  }

  private static ElementType<?> typeOf(Object value) {
    if (value instanceof UnifiedBuffer<?> buffer) {
      return buffer.elementType();
    }
    if (value instanceof Boolean) {
      return ElementType.BOOLEAN;
    }
    if (value instanceof Float || value instanceof Double) {
      return ElementType.DOUBLE;
    }
    return value instanceof Number
        ? ElementType.LONG
        : ElementType.ofArray(value.getClass()).orElseThrow(FileKernels::misplaced);
  }

  @Override
  public LaunchRange range(
      List<KernelParameter> parameters, long[] lengths, @Nullable LaunchRange asked) {
    if (asked != null) {
      throw new IllegalArgumentException(
          "an expression runs over its arrays and takes no range; pass slices instead");
    }
    int first = 0;
    while (lengths[first] < 0) {
      first++;
    }
    for (int i = first + 1; i < lengths.length; i++) {
      if (lengths[i] >= 0 && lengths[i] != lengths[first]) {
        throw new IllegalArgumentException(
            "arrays differ in length: '"
                + parameters.get(first).name()
                + "' has "
                + lengths[first]
                + " elements, '"
                + parameters.get(i).name()
                + "' has "
                + lengths[i]);
      }
    }
    LaunchRange known = lastRange;
    if (known == null || known.items() != lengths[first]) {
      known = LaunchRange.of(lengths[first]);
      lastRange = known;
    }
    return known;
  }

  @Override
  public boolean isolatesOverlaps() {
    return true;
  }
}
