package dev.tidepool.runtime.supply;

import dev.tidepool.pool.block.MemoryPool;
import java.util.List;
import java.util.function.IntFunction;

/**
 * The pools of plain host memory: one for each NUMA node, whose blocks have pages of that node and
 * are allocated to threads that run there. A block that a thread of another node frees is returned
 * to its own pool. On a machine with one node there is one pool; the system places each page on the
 * first access.
 */
public final class HostPools implements AutoCloseable {
  private final NodeMemory machine;
  private final List<MemoryPool> byNode;

  /**
   * Creates the pools of a machine.
   *
   * @param ofNode creates the pool of one node
   */
  HostPools(NodeMemory machine, IntFunction<MemoryPool> ofNode) {
    this.machine = machine;
    this.byNode = machine.nodes().stream().map(ofNode::apply).toList();
  }

  /** Returns the pool of the first node, which represents all pools. */
  MemoryPool first() {
    return byNode.getFirst();
  }

  /** Returns the pool of the node that the calling thread runs on. */
  MemoryPool here() {
    return byNode.get(placeOfCaller());
  }

  /** Returns all pools, in the order of {@link NodeMemory#nodes()}. */
  List<MemoryPool> all() {
    return byNode;
  }

  /** Returns the index of the calling thread's node; 0 if there is one node. */
  int placeOfCaller() {
    return byNode.size() == 1 ? 0 : machine.placeOfCaller();
  }

  /** Closes the pools. */
  @Override
  public void close() {
    byNode.forEach(MemoryPool::close);
  }
}
