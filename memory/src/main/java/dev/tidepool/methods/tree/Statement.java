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
   * @param index an int; where there is no site, an int or a long
   * @param site where; null if the index is known to be inside
   */
  record Load(Variable target, KernelArray array, KernelExpression index, @Nullable Site site)
      implements Statement {}

  /**
   * Stores an element, narrowed to its type; fails if the index is outside of the array.
   *
   * @param index an int; where there is no site, an int or a long
   * @param site where; null if the index is known to be inside
   */
  record Store(
      KernelArray array, KernelExpression index, KernelExpression value, @Nullable Site site)
      implements Statement {}

  /**
   * The quotient or remainder of two ints or longs; fails if the divisor is 0. The quotient of the
   * least integer and -1 is the least integer.
   *
   * @param site where; null if the divisor is known not to be 0
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
   * Changes an element in one step that no other item comes between; fails if the index is outside
   * of the array.
   *
   * @param target becomes the value before; null if that is not used
   * @param expected what a compare-and-set expects; null for others
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

  /** What an atomic step does. */
  enum AtomicOperation {
    ADD,
    MIN,
    MAX,
    COMPARE_AND_SET
  }

  /** Zeroes an array of the item: {@code new float[16]}. */
  record Clear(KernelArray.Private array) implements Statement {}

  /**
   * Waits until all items of the group are here, and have seen each other's stores.
   *
   * @param frame its place in the source, as a stack trace has it
   */
  record Barrier(StackTraceElement frame) implements Statement {}

  /** Does one of two lists of statements, by whether an int is not 0. */
  record If(KernelExpression condition, List<Statement> then, List<Statement> otherwise)
      implements Statement {
    /** Copies the lists. */
    public If {
      then = List.copyOf(then);
      otherwise = List.copyOf(otherwise);
    }
  }

  /** Does its body again and again, until something leaves it. */
  record Loop(Label label, List<Statement> body) implements Statement {
    /** Copies the list. */
    public Loop {
      body = List.copyOf(body);
    }
  }

  /** Does its body once. A {@link Break} with its label jumps to the end of it. */
  record Block(Label label, List<Statement> body) implements Statement {
    /** Copies the list. */
    public Block {
      body = List.copyOf(body);
    }
  }

  /** Jumps to the end of the {@link Block} or {@link Loop} around it that has the label. */
  record Break(Label label) implements Statement {}

  /** Jumps to the start of the {@link Loop} around it that has the label. */
  record Continue(Label label) implements Statement {}

  /** Ends what the item computes. */
  record Return() implements Statement {}

  /**
   * The name of a {@link Block} or {@link Loop}.
   *
   * @param id unique in the tree
   */
  record Label(int id) {}
}
