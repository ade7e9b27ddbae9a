package dev.tidepool.expression.types;

import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarKind;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A value that depends only on scalars, and therefore has a kind but no width.
 *
 * @param id its index in its program; greater than those of its arguments
 * @param kind its kind
 * @param constant its value, if it depends only on literals
 * @param parameter the name of the scalar, if it is one
 * @param op the operation that computes it; {@code LOAD} for parameters and literals
 * @param args the arguments of the operation
 */
record WeakScalar(
    int id,
    ScalarKind kind,
    @Nullable Object constant,
    @Nullable String parameter,
    Op op,
    List<WeakScalar> args) {
  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return id;
  }
}
