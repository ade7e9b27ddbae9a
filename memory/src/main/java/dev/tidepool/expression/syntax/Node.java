package dev.tidepool.expression.syntax;

import java.util.List;

/**
 * One operation of a typed tree, on concrete types. All arguments of an operation have its operand
 * type, except the condition of a {@code SELECT}; conversions are operations of their own.
 *
 * <p>Equal operations are one node, so the tree is a graph. The {@code id} of a node is greater
 * than those of its arguments: nodes can be computed in ascending order of ids.
 *
 * @param id the node's index in its program
 * @param op the operation
 * @param type the type of the result
 * @param args the arguments
 * @param payload {@code LOAD}: the array's index; {@code UNIFORM}: its index; {@code CONSTANT}: the
 *     raw bits; otherwise 0
 */
public record Node(int id, Op op, ScalarType type, List<Node> args, long payload) {
  /** Returns the type of the operation's arguments. */
  public ScalarType operandType() {
    return op == Op.SELECT ? type : args.getFirst().type();
  }

  public boolean isLeaf() {
    return op.shape == Op.Shape.LEAF;
  }

  /**
   * Returns whether a routine computes the node instead of a few instructions; false for integer
   * powers.
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
