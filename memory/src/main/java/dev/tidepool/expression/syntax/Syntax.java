package dev.tidepool.expression.syntax;

import java.util.List;

/**
 * The untyped tree of one expression; {@code position} is the index of its character in the source.
 */
public sealed interface Syntax {
  /** Returns the position to which errors about this part point. */
  public int position();

  /** Returns the number of levels of the tree from this part down; the parser limits it. */
  int height();

  /** A literal: a {@link java.math.BigInteger}, {@link Double} or {@link Boolean}. */
  record Literal(Object value, int position) implements Syntax {
    @Override
    public int height() {
      return 1;
    }
  }

  /** A name that is read. */
  record Reference(String name, int position) implements Syntax {
    @Override
    public int height() {
      return 1;
    }
  }

  /** An operator or a function with its arguments. */
  record Apply(Op op, List<Syntax> args, int position, int height) implements Syntax {}

  /** {@code name = value}. */
  record Assignment(String name, Syntax value, int position) {}
}
