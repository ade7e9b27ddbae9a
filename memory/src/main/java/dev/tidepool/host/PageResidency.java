package dev.tidepool.host;

import dev.tidepool.host.system.ProcFiles;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The location of a block's bytes at one moment, as the system counts them. Bytes that were never
 * touched count nowhere.
 *
 * @param residentBytes bytes in memory
 * @param hugeBytes resident bytes on huge pages, transparent or explicit
 * @param lockedBytes resident bytes that stay in memory, including those on explicit huge pages
 * @param bytesByNode resident bytes on each NUMA node; empty if not known
 */
public record PageResidency(
    long residentBytes, long hugeBytes, long lockedBytes, Map<Integer, Long> bytesByNode) {
  private static final Path MAPS = Path.of("/proc/self/smaps");
  private static final Path NODES = Path.of("/proc/self/numa_maps");

  /**
   * Returns the residency of the addresses of a mapping. Returns empty if the system has merged the
   * mapping with others, or has no data.
   */
  static Optional<PageResidency> of(long address, long bytes) {
    return read(address, bytes, ProcFiles.lines(MAPS), ProcFiles.lines(NODES));
  }

  /** Returns the residency according to the lines of the two files. */
  static Optional<PageResidency> read(
      long address, long bytes, List<String> maps, List<String> nodes) {
    long resident = 0;
    long transparent = 0;
    long explicit = 0;
    long locked = 0;
    long covered = 0;
    boolean inside = false;
    Map<Integer, Long> byNode = new TreeMap<>();
    for (String line : maps) {
      int colon = line.indexOf(':');
      int dash = line.indexOf('-');
      int space = line.indexOf(' ');
      if (dash > 0 && dash < space) {
        long from = Long.parseUnsignedLong(line.substring(0, dash), 16);
        long to = Long.parseUnsignedLong(line.substring(dash + 1, space), 16);
        inside = from >= address && to <= address + bytes;
        if (inside) {
          covered += to - from;
          count(Long.toHexString(from), nodes, byNode);
        }
      } else if (inside && colon > 0) {
        switch (line.substring(0, colon)) {
          case "Rss" -> resident += bytesOf(line, colon);
          case "AnonHugePages" -> transparent += bytesOf(line, colon);
          case "Private_Hugetlb", "Shared_Hugetlb" -> explicit += bytesOf(line, colon);
          case "Locked" -> locked += bytesOf(line, colon);
          default -> {}
        }
      }
    }
    return covered == bytes
        ? Optional.of(
            new PageResidency(
                resident + explicit, transparent + explicit, locked + explicit, Map.copyOf(byNode)))
        : Optional.empty();
  }

  /** Adds the bytes of a mapping on each node. {@code N0=12} means 12 pages on node 0. */
  private static void count(String start, List<String> nodes, Map<Integer, Long> byNode) {
    for (String line : nodes) {
      if (!line.startsWith(start + " ")) {
        continue;
      }
      String[] words = line.split(" ", -1);
      String last = words[words.length - 1];
      long page = ProcFiles.parse(last.substring(last.indexOf('=') + 1), 0) * 1024;
      for (String word : words) {
        if (word.matches("N\\d+=\\d+")) {
          int equals = word.indexOf('=');
          int node = (int) ProcFiles.parse(word.substring(1, equals), 0);
          byNode.merge(node, page * ProcFiles.parse(word.substring(equals + 1), 0), Long::sum);
        }
      }
    }
  }

  private static long bytesOf(String line, int colon) {
    return 1024 * ProcFiles.parse(line.substring(colon + 1).replace("kB", "").strip(), 0);
  }
}
