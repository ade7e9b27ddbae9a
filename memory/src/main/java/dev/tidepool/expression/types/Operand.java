package dev.tidepool.expression.types;

import dev.tidepool.KernelParameter;
import dev.tidepool.expression.syntax.ScalarKind;
import dev.tidepool.expression.syntax.ScalarType;
import java.util.Objects;

/** The operand that a caller binds to a name of an expression. */
public sealed interface Operand {
  /** An array of known element type, for any access. */
  record Array(ScalarType type) implements Operand {
    /** Checks that there is a type. */
    public Array {
      Objects.requireNonNull(type, "type");
    }
  }

  /** An array that does not exist yet: its element type is the one that NumPy would choose. */
  record Output() implements Operand {}

  /** A value that is the same for every element. */
  record Scalar(ScalarKind kind) implements Operand {
    /** Checks that there is a kind. */
    public Scalar {
      Objects.requireNonNull(kind, "kind");
    }
  }

  /** Returns an array of {@code type}: an input, an output, or both. */
  static Operand array(ScalarType type) {
    return new Array(type);
  }

  /** Returns an output whose element type is the natural type of the assigned value. */
  static Operand output() {
    return new Output();
  }

  static Operand scalar(ScalarKind kind) {
    return new Scalar(kind);
  }

  /** Returns a scalar of the kind of {@code value}, as {@link ScalarKind#of(Object)} says. */
  static Operand scalar(Object value) {
    return new Scalar(ScalarKind.of(value));
  }

  /**
   * Returns the operand for a kernel's parameter: an array of its type, or a scalar of the kind of
   * its type.
   */
  static Operand of(KernelParameter parameter) {
    ScalarType type = ScalarType.of(parameter.type());
    if (parameter.access().isArray()) {
      return array(type);
    }
    return scalar(
        type == ScalarType.BOOL
            ? ScalarKind.BOOL
            : type.isInteger() ? ScalarKind.INT : ScalarKind.FLOAT);
  }
}
