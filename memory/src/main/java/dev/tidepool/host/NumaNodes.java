package dev.tidepool.host;

import dev.tidepool.host.system.ProcFiles;
import java.nio.file.Path;
import java.util.List;

/** The NUMA nodes whose memory this process may use. */
final class NumaNodes {
  private static final Path NODES = Path.of("/sys/devices/system/node");
  private static final String ALLOWED = "Mems_allowed_list:";

  private NumaNodes() {}

  /** Returns the nodes, ascending, that have memory and that the process's CPU set allows. */
  static List<Integer> usable() {
    List<Integer> nodes = withMemory();
    if (nodes.size() == 1) {
      return nodes;
    }
    List<Integer> allowed =
        ProcFiles.lines(Path.of("/proc/self/status")).stream()
            .filter(line -> line.startsWith(ALLOWED))
            .flatMap(line -> ProcFiles.numbers(line.substring(ALLOWED.length())).stream())
            .toList();
    return allowed.isEmpty() ? nodes : nodes.stream().filter(allowed::contains).toList();
  }

  private static List<Integer> withMemory() {
    for (String file : List.of("has_memory", "online")) {
      List<String> lines = ProcFiles.lines(NODES.resolve(file));
      if (!lines.isEmpty()) {
        return ProcFiles.numbers(lines.getFirst());
      }
    }
    // A system that reports no nodes has one.
    return List.of(0);
  }

  /**
   * Checks that the nodes of a policy exist.
   *
   * @throws IllegalArgumentException if one does not; the message lists the nodes
   */
  static void check(NumaPolicy policy) {
    if (policy.nodes().isEmpty()) {
      return;
    }
    List<Integer> usable = usable();
    for (int node : policy.nodes()) {
      if (!usable.contains(node)) {
        throw new IllegalArgumentException(
            "there is no NUMA node "
                + node
                + " that this process may use; the nodes are "
                + usable.toString().replaceAll("[\\[\\]]", ""));
      }
    }
  }

  /** Returns the free memory of nodes, file caches included; Long.MAX_VALUE if not known. */
  static long freeBytes(List<Integer> nodes) {
    long free = 0;
    for (int node : nodes) {
      List<String> lines = ProcFiles.lines(NODES.resolve("node" + node + "/meminfo"));
      if (lines.isEmpty()) {
        return Long.MAX_VALUE;
      }
      free += freeBytes(lines, node);
    }
    return free;
  }

  /** Returns the free memory according to the lines of a node's file. */
  static long freeBytes(List<String> lines, int node) {
    long free = 0;
    for (String line : lines) {
      for (String part : List.of("MemFree:", "Active(file):", "Inactive(file):", "SReclaimable:")) {
        String key = "Node " + node + " " + part;
        if (line.startsWith(key)) {
          free += 1024 * ProcFiles.parse(line.substring(key.length()).strip().split(" ", 2)[0], 0);
        }
      }
    }
    return free;
  }
}
