package dev.tidepool.host;

import java.util.Arrays;
import java.util.List;

/**
 * The NUMA nodes that a block's pages come from. {@link HostPlatform#numaNodes()} lists the nodes
 * of this machine.
 *
 * @param mode how the nodes are meant
 * @param nodes their numbers, ascending, each once; none for {@link Mode#LOCAL}, one for {@link
 *     Mode#PREFERRED}
 */
public record NumaPolicy(Mode mode, List<Integer> nodes) {
  /** What every process starts with. */
  public static final NumaPolicy LOCAL = new NumaPolicy(Mode.LOCAL, List.of());

  /** How the nodes of a policy are meant. */
  public enum Mode {
    /** The node of the processor that touches a page first, or as the process was started. */
    LOCAL,
    /** The node while it has room, then others. */
    PREFERRED,
    /** All nodes in turn, page by page, for the bandwidth of all. */
    INTERLEAVE,
    /** These nodes only; there is no room once they are full. */
    BIND
  }

  /**
   * Checks the form. Whether the nodes exist is checked when memory is allocated.
   *
   * @throws IllegalArgumentException if there are too many nodes or too few, or one is negative
   */
  public NumaPolicy {
    nodes = nodes.stream().sorted().distinct().toList();
    boolean fits =
        switch (mode) {
          case LOCAL -> nodes.isEmpty();
          case PREFERRED -> nodes.size() == 1;
          case INTERLEAVE, BIND -> !nodes.isEmpty();
        };
    if (!fits) {
      throw new IllegalArgumentException(
          "a " + mode + " policy does not go with the nodes " + nodes + "; name as many as it has");
    }
    if (!nodes.isEmpty() && nodes.getFirst() < 0) {
      throw new IllegalArgumentException("NUMA node " + nodes.getFirst() + " is negative");
    }
  }

  /** From this node while it has room. */
  public static NumaPolicy preferred(int node) {
    return new NumaPolicy(Mode.PREFERRED, List.of(node));
  }

  /** From these nodes in turn, page by page. */
  public static NumaPolicy interleave(int... nodes) {
    return new NumaPolicy(Mode.INTERLEAVE, boxed(nodes));
  }

  /** From these nodes only. */
  public static NumaPolicy bind(int... nodes) {
    return new NumaPolicy(Mode.BIND, boxed(nodes));
  }

  private static List<Integer> boxed(int... nodes) {
    return Arrays.stream(nodes).boxed().toList();
  }
}
