package dev.tidepool.runtime.supply;

import dev.tidepool.pool.block.MemoryPool;
import java.util.List;
import java.util.function.IntFunction;

/**
 * The pools of plain host memory: one for each NUMA node, whose blocks have pages of that node and
 * go to threads that run there. A block that another node's thread gives back returns to its pool.
 * With one node, there is one pool, whose pages come from where they are touched first.
 */
public final class HostPools implements AutoCloseable {
  private final NodeMemory machine;
  private final List<MemoryPool> byNode;

  private HostPools(NodeMemory machine, List<MemoryPool> byNode) {
    this.machine = machine;
    this.byNode = byNode;
  }

  /**
   * Returns the pools of a machine.
   *
   * @param ofNode makes the pool of one node
   */
  static HostPools of(NodeMemory machine, IntFunction<MemoryPool> ofNode) {
    return new HostPools(machine, machine.nodes().stream().map(ofNode::apply).toList());
  }

  /** Returns the pool of the first node, which stands for all where no thread asks. */
  MemoryPool first() {
    return byNode.getFirst();
  }

  /** Returns the pool of the node that the calling thread runs on. */
  MemoryPool here() {
    return byNode.get(placeOfCaller());
  }

  /** Returns all of them, in the order of {@link NodeMemory#nodes()}. */
  List<MemoryPool> all() {
    return byNode;
  }

  /** Returns the place of the calling thread's node; 0 where there is one. */
  int placeOfCaller() {
    return byNode.size() == 1 ? 0 : machine.placeOfCaller();
  }

  /** Ends the pools. */
  @Override
  public void close() {
    byNode.forEach(MemoryPool::close);
  }
}
