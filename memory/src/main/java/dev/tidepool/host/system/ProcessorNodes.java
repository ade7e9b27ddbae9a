package dev.tidepool.host.system;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/**
 * The NUMA node of the calling thread, from the processor that the C library reports and Linux's
 * table of the processors of each node. The thread may move to another node a moment later.
 */
public final class ProcessorNodes {
  private static final Path NODES = Path.of("/sys/devices/system/node");

  /** Linked only when needed, on machines with several nodes. */
  private static final class Call {
    // Takes a few nanoseconds and no system call. A thread state transition would cost more.
    static final MethodHandle SCHED_GETCPU =
        LibC.link("sched_getcpu", FunctionDescriptor.of(JAVA_INT), Linker.Option.critical(false));
  }

  // By processor number: the index of its node in the list.
  private final int[] places;

  private ProcessorNodes(int[] places) {
    this.places = places;
  }

  /** Returns whether the system has nodes and the C library reports processors. */
  public static boolean areKnown() {
    return Platform.CURRENT.numa().isPresent() && LibC.has("sched_getcpu");
  }

  public static ProcessorNodes of(List<Integer> nodes) {
    return of(nodes, node -> ProcFiles.lines(NODES.resolve("node" + node + "/cpulist")));
  }

  /**
   * Returns the processors of nodes.
   *
   * @param cpuLists the lines of a node's file
   */
  static ProcessorNodes of(List<Integer> nodes, Function<Integer, List<String>> cpuLists) {
    int[] places = new int[0];
    for (int place = 0; place < nodes.size(); place++) {
      for (String line : cpuLists.apply(nodes.get(place))) {
        for (int processor : ProcFiles.numbers(line)) {
          places = processor < places.length ? places : Arrays.copyOf(places, processor + 1);
          places[processor] = place;
        }
      }
    }
    return new ProcessorNodes(places);
  }

  /** Returns the index of the calling thread's node in the list, or 0 if not known. */
  public int placeOfCaller() {
    try {
      return placeOf((int) Call.SCHED_GETCPU.invokeExact());
    } catch (Throwable e) {
      throw LibC.unexpected(e);
    }
  }

  int placeOf(int processor) {
    return processor >= 0 && processor < places.length ? places[processor] : 0;
  }
}
