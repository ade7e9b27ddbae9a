package dev.tidepool.runtime;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelParameter.Access;
import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.expression.Expression;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The signature of an expression, whose types are those of its arguments. */
record ElementwiseSignature(KernelSource.Elementwise source, Expression expression)
    implements Signature {
  @Override
  public List<KernelParameter> parameters(Arguments arguments) {
    List<KernelParameter> parameters = new ArrayList<>();
    Set<String> unknown = new LinkedHashSet<>(arguments.values().keySet());
    for (Expression.Name name : expression.names()) {
      unknown.remove(name.name());
      Object value = arguments.values().get(name.name());
      if (value != null) {
        parameters.add(parameter(name, value));
      } else if (name.access() != dev.tidepool.expression.Access.OUT) {
        throw new IllegalArgumentException(
            "argument '" + name.name() + "' is missing; '" + expression.source() + "' reads it");
      }
    }
    if (!unknown.isEmpty()) {
      throw new IllegalArgumentException(
          "'"
              + expression.source()
              + "' has no "
              + unknown
              + "; it names "
              + expression.names().stream().map(Expression.Name::name).toList());
    }
    // Missing names and types that do not go together are errors now, not on another thread.
    Objects.requireNonNull(expression.resolve(parameters));
    return List.copyOf(parameters);
  }

  private static KernelParameter parameter(Expression.Name name, Object value) {
    Access access =
        switch (name.access()) {
          case IN -> Access.IN;
          case OUT -> Access.OUT;
          case INOUT -> Access.INOUT;
        };
    ElementType<?> type = typeOf(value);
    boolean isScalar = value instanceof Number || value instanceof Boolean;
    if (isScalar && access != Access.IN) {
      throw new IllegalArgumentException(
          "'" + name.name() + "' is assigned, so it must be a buffer or an array, not " + value);
    }
    return new KernelParameter(name.name(), isScalar ? Access.SCALAR : access, type);
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
        : ElementType.ofArray(value.getClass()).orElseThrow();
  }

  @Override
  public LaunchRange range(List<Long> lengths, List<String> names, @Nullable LaunchRange asked) {
    if (asked != null) {
      throw new IllegalArgumentException(
          "an expression runs over its arrays and takes no range; pass slices instead");
    }
    for (int i = 1; i < lengths.size(); i++) {
      if (!lengths.get(i).equals(lengths.getFirst())) {
        throw new IllegalArgumentException(
            "arrays differ in length: '"
                + names.getFirst()
                + "' has "
                + lengths.getFirst()
                + " elements, '"
                + names.get(i)
                + "' has "
                + lengths.get(i));
      }
    }
    return LaunchRange.of(lengths.getFirst());
  }

  @Override
  public boolean isolatesOverlaps() {
    return true;
  }
}
