package dev.tidepool.methods.tree;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** A step of a kernel. */
public sealed interface Statement {
  /** Sets a variable. */
  record Assign(Variable target, KernelExpression value) implements Statement {}

  /**
   * Loads an element; fails if the index is outside of the array.
   *
   * @param index an int; also a long if there is no site
   * @param site the place; null if the index is known to be inside
   */
  record Load(Variable target, KernelArray array, KernelExpression index, @Nullable Site site)
      implements Statement {}

  /**
   * Stores an element, narrowed to its type; fails if the index is outside of the array.
   *
   * @param index an int; also a long if there is no site
   * @param site the place; null if the index is known to be inside
   */
  record Store(
      KernelArray array, KernelExpression index, KernelExpression value, @Nullable Site site)
      implements Statement {}

  /**
   * The quotient or remainder of two ints or longs; fails if the divisor is 0. The quotient of the
   * least integer and -1 is the least integer.
   *
   * @param site the place; null if the divisor is known not to be 0
   */
  record Divide(
      Variable target,
      boolean isRemainder,
      KernelExpression dividend,
      KernelExpression divisor,
      @Nullable Site site)
      implements Statement {
    /** Returns whether the divisor may be 0. */
    public boolean mayFail() {
      return site != null
          && !(divisor instanceof KernelExpression.Constant constant && constant.bits() != 0);
    }
  }

  /**
   * Changes an element atomically; fails if the index is outside of the array.
   *
   * @param target receives the previous value; null if that is not used
   * @param expected the value that a compare-and-set expects; null for others
   */
  record Atomic(
      @Nullable Variable target,
      AtomicOperation operation,
      KernelArray array,
      KernelExpression index,
      @Nullable KernelExpression expected,
      KernelExpression value,
      @Nullable Site site)
      implements Statement {}

  /** An atomic operation. */
  enum AtomicOperation {
    ADD,
    MIN,
    MAX,
    COMPARE_AND_SET
  }

  /** Zeroes an array of the item: {@code new float[16]}. */
  record Clear(KernelArray.Private array) implements Statement {}

  /**
   * Waits until all items of the group have arrived and see each other's stores.
   *
   * @param frame its place in the source, as in a stack trace
   */
  record Barrier(StackTraceElement frame) implements Statement {}

  /** Executes one of two lists of statements, depending on whether an int is not 0. */
  record If(KernelExpression condition, List<Statement> then, List<Statement> otherwise)
      implements Statement {
    /** Copies the lists. */
    public If {
      then = List.copyOf(then);
      otherwise = List.copyOf(otherwise);
    }
  }

  /** Repeats its body until a jump leaves it. */
  record Loop(Label label, List<Statement> body) implements Statement {
    /** Copies the list. */
    public Loop {
      body = List.copyOf(body);
    }
  }

  /** Executes its body once. A {@link Break} with its label jumps to its end. */
  record Block(Label label, List<Statement> body) implements Statement {
    /** Copies the list. */
    public Block {
      body = List.copyOf(body);
    }
  }

  /** Jumps to the end of the enclosing {@link Block} or {@link Loop} with the label. */
  record Break(Label label) implements Statement {}

  /** Jumps to the start of the enclosing {@link Loop} with the label. */
  record Continue(Label label) implements Statement {}

  /** Ends the item. */
  record Return() implements Statement {}

  /**
   * The name of a {@link Block} or {@link Loop}.
   *
   * @param id unique in the tree
   */
  record Label(int id) {}
}
