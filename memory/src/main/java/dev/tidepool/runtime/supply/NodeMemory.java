package dev.tidepool.runtime.supply;

import dev.tidepool.host.HostBlock;
import dev.tidepool.host.HostPlatform;
import dev.tidepool.host.HostRequest;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.host.NumaPolicy;
import dev.tidepool.host.system.ProcessorNodes;
import java.util.List;
import java.util.function.IntSupplier;

/**
 * The NUMA nodes of the machine, from which pools of host memory are filled. Tests bind an emulated
 * machine to {@link EmulatedNodes#MACHINE}, which takes its place. Thread-safe.
 */
public interface NodeMemory {
  /** Returns the numbers of the nodes, at least one. */
  List<Integer> nodes();

  /**
   * Returns the place in {@link #nodes()} of the node that the calling thread runs on. Called for
   * each allocation where there are several nodes, and never where there is one.
   */
  int placeOfCaller();

  /** Returns a block with pages of a node, while the node has room. */
  default HostBlock allocate(MemoryAllocator allocator, HostRequest request, int node) {
    return allocator.allocate(request.from(NumaPolicy.preferred(node)));
  }

  /** Returns the memory of the machine that this thread sees: the real one, or an emulated one. */
  static NodeMemory current() {
    return EmulatedNodes.MACHINE.isBound() ? EmulatedNodes.MACHINE.get() : ofThisMachine();
  }

  private static NodeMemory ofThisMachine() {
    List<Integer> nodes = HostPlatform.usableNumaNodes();
    if (nodes.size() < 2 || !ProcessorNodes.areKnown()) {
      return new Nodes(nodes.subList(0, 1), () -> 0);
    }
    return new Nodes(nodes, ProcessorNodes.of(nodes)::placeOfCaller);
  }

  /** The scope of an emulated machine. */
  final class EmulatedNodes {
    static final ScopedValue<NodeMemory> MACHINE = ScopedValue.newInstance();

    private EmulatedNodes() {}
  }

  /**
   * Nodes and where threads are.
   *
   * @param nodes their numbers
   * @param place returns that of the calling thread
   */
  record Nodes(List<Integer> nodes, IntSupplier place) implements NodeMemory {
    @Override
    public int placeOfCaller() {
      return place.getAsInt();
    }
  }
}
