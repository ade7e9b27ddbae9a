package dev.tidepool.expression.types;

import dev.tidepool.expression.syntax.Node;
import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarType;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Creates nodes; equal nodes are one object. */
final class NodeTable {
  private record Key(Op op, ScalarType type, List<Integer> args, long payload) {
    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Key key
          && op == key.op
          && type == key.type
          && payload == key.payload
          && args.equals(key.args);
    }

    @Override
    public int hashCode() {
      int kind = 31 * op.hashCode() + type.hashCode();
      return 31 * (31 * kind + args.hashCode()) + Long.hashCode(payload);
    }
  }

  private final Map<Key, Node> known = new HashMap<>();

  Node node(Op op, ScalarType type, List<Node> args, long payload) {
    Key key = new Key(op, type, args.stream().map(Node::id).toList(), payload);
    return known.computeIfAbsent(
        key, _ -> new Node(known.size(), op, type, List.copyOf(args), payload));
  }

  Node node(Op op, ScalarType type, Node... args) {
    return node(op, type, List.of(args), 0);
  }

  Node convert(Node value, ScalarType type) {
    return value.type() == type ? value : node(Op.CONVERT, type, value);
  }
}
