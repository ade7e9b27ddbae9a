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
 * The NUMA nodes of the machine, which provide the memory of host pools. Tests bind an emulated
 * machine to {@link EmulatedNodes#MACHINE}. Thread-safe.
 */
public interface NodeMemory {
  /** Returns the numbers of the nodes, at least one. */
  List<Integer> nodes();

  /**
   * Returns the index in {@link #nodes()} of the calling thread's node. Called for each allocation
   * if there are several nodes, and never if there is one.
   */
  int placeOfCaller();

  /** Returns a block with pages of a node; of other nodes if the node is full. */
  default HostBlock allocate(MemoryAllocator allocator, HostRequest request, int node) {
    return allocator.allocate(request.from(NumaPolicy.preferred(node)));
  }

  /** Returns the nodes of the real machine, or of the one that this thread emulates. */
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
   * The nodes, and the lookup of the calling thread's node.
   *
   * @param nodes their numbers
   * @param place returns the index of the calling thread's node
   */
  record Nodes(List<Integer> nodes, IntSupplier place) implements NodeMemory {
    @Override
    public int placeOfCaller() {
      return place.getAsInt();
    }
  }
}
