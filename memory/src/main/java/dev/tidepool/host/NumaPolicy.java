package dev.tidepool.host;

import java.util.Arrays;
import java.util.List;

/**
 * The NUMA nodes of a block's pages. {@link HostPlatform#numaNodes()} lists the nodes of this
 * machine.
 *
 * @param mode how the nodes are used
 * @param nodes their numbers, ascending, each once; none for {@link Mode#LOCAL}, one for {@link
 *     Mode#PREFERRED}
 */
public record NumaPolicy(Mode mode, List<Integer> nodes) {
  /** The policy with which a process starts. */
  public static final NumaPolicy LOCAL = new NumaPolicy(Mode.LOCAL, List.of());

  /** How the nodes of a policy are used. */
  public enum Mode {
    /** The node of the processor that first touches a page, or the default of the process. */
    LOCAL,
    /** The node while it has room, then others. */
    PREFERRED,
    /** All nodes in turn, page by page, for the bandwidth of all of them. */
    INTERLEAVE,
    /** Only these nodes. If they are full, there is no room. */
    BIND
  }

  /**
   * Checks the number of nodes. Their existence is checked when memory is allocated.
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

  /** Returns the policy to use this node while it has room. */
  public static NumaPolicy preferred(int node) {
    return new NumaPolicy(Mode.PREFERRED, List.of(node));
  }

  /** Returns the policy to use these nodes in turn, page by page. */
  public static NumaPolicy interleave(int... nodes) {
    return new NumaPolicy(Mode.INTERLEAVE, boxed(nodes));
  }

  /** Returns the policy to use only these nodes. */
  public static NumaPolicy bind(int... nodes) {
    return new NumaPolicy(Mode.BIND, boxed(nodes));
  }

  private static List<Integer> boxed(int... nodes) {
    return Arrays.stream(nodes).boxed().toList();
  }
}
