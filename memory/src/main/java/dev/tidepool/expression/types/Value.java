package dev.tidepool.expression.types;

import dev.tidepool.expression.syntax.Node;
import dev.tidepool.expression.syntax.ScalarType;

/** The value of an expression while types are resolved. */
sealed interface Value {
  /** A value that differs from element to element. */
  record Typed(Node node) implements Value {}

  /** A value that depends on scalars only. */
  record Weak(WeakScalar scalar) implements Value {
    /** Returns the type that the scalar takes when it is combined with arrays of {@code type}. */
    ScalarType in(ScalarType type) {
      return scalar.kind().with(type);
    }
  }
}
