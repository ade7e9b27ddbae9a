package dev.tidepool.expression.types;

import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarKind;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A value that depends on scalars only, and so has a kind but no width.
 *
 * @param id its index in its program; greater than its arguments'
 * @param kind what it is
 * @param constant its value, when it depends on literals only
 * @param parameter the scalar that it is, if it is one
 * @param op what computes it, if something does; {@code LOAD} for parameters and literals
 * @param args what it is computed from
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
