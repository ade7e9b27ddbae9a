package dev.tidepool.host.system;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Linux's map of the addresses of this process. */
final class AddressMap {
  private static final Path MAPS = Path.of("/proc/self/maps");

  private AddressMap() {}

  static boolean isTold() {
    return Files.isReadable(MAPS);
  }

  /**
   * Returns whether a whole range is private memory without a file. Returns false if the system has
   * no map. Reads the map of all addresses, which takes about a millisecond.
   */
  static boolean isAnonymous(long address, long bytes) {
    return isAnonymous(address, bytes, ProcFiles.lines(MAPS));
  }

  /** Returns the same for the lines of a map, which are in the order of their addresses. */
  static boolean isAnonymous(long address, long bytes, List<String> lines) {
    long end = address + bytes;
    long covered = address;
    for (String line : lines) {
      // 7f12a000-7f12c000 rw-p 00000000 00:00 0    [heap]
      String[] words = line.strip().split("\\s+", 6);
      int dash = words[0].indexOf('-');
      if (words.length < 5 || dash < 0) {
        continue;
      }
      long from = Long.parseUnsignedLong(words[0].substring(0, dash), 16);
      long to = Long.parseUnsignedLong(words[0].substring(dash + 1), 16);
      if (from > covered || Long.compareUnsigned(to, covered) <= 0) {
        continue;
      }
      boolean hasFile = !words[4].equals("0");
      boolean isSpecial = words.length > 5 && !words[5].matches("\\[(heap|stack|anon:.*)]");
      if (!words[1].endsWith("p") || hasFile || isSpecial) {
        return false;
      }
      covered = to;
      if (covered >= end) {
        return true;
      }
    }
    return false;
  }
}
