package dev.tidepool.expression.syntax;

import java.util.List;

/**
 * One operation of a typed tree, on concrete types: the arguments of an operation all have its
 * operand type, and conversions are operations of their own.
 *
 * <p>Equal operations are one node, so the tree is a graph, and a node's {@code id} is greater than
 * its arguments': ascending ids are an order in which to compute.
 *
 * @param id the node's index in its program
 * @param op what is computed
 * @param type the type of the result
 * @param args what it is computed from
 * @param payload {@code LOAD}: the array's index; {@code UNIFORM}: its index; {@code CONSTANT}: the
 *     raw bits; otherwise 0
 */
public record Node(int id, Op op, ScalarType type, List<Node> args, long payload) {
  /** Returns the type in which the operation takes its arguments. */
  public ScalarType operandType() {
    return op == Op.SELECT ? type : args.getFirst().type();
  }

  public boolean isLeaf() {
    return op.shape == Op.Shape.LEAF;
  }

  /**
   * Returns whether a routine computes it, rather than a few instructions: integer powers are not
   * it.
   */
  public boolean isFunction() {
    return op.shape == Op.Shape.FUNCTION && type.isFloating();
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return id;
  }

  @Override
  public String toString() {
    return "%"
        + id
        + " = "
        + op
        + " "
        + type
        + args.stream().map(Node::id).toList()
        + " "
        + payload;
  }
}
