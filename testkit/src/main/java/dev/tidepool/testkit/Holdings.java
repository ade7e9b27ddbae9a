package dev.tidepool.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * What this process has of the system; 0 for what the system does not tell.
 *
 * @param residentBytes in memory
 * @param files that are open
 * @param threads of the virtual machine, too
 */
record Holdings(long residentBytes, long files, long threads) {
  /** Pages of the process may come and go by so much. */
  private static final long RESIDENT_SLACK = 192L << 20;

  /** Files and threads that the virtual machine may have more of than at first. */
  private static final int SLACK = 20;

  /** After the collector has run, so that garbage counts as little as it can. */
  static Holdings now() throws IOException {
    System.gc();
    return new Holdings(resident(), count("fd"), count("task"));
  }

  /** Returns whether these are more than chance explains. */
  boolean exceed(Holdings first) {
    return residentBytes >= first.residentBytes + RESIDENT_SLACK
        || files >= first.files + SLACK
        || threads >= first.threads + SLACK;
  }

  private static long count(String what) throws IOException {
    Path folder = Path.of("/proc/self").resolve(what);
    if (!Files.isReadable(folder)) {
      return 0;
    }
    try (Stream<Path> all = Files.list(folder)) {
      return all.count();
    }
  }

  private static long resident() throws IOException {
    Path status = Path.of("/proc/self/status");
    if (!Files.isReadable(status)) {
      return 0;
    }
    return Files.readAllLines(status).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
        .findFirst()
        .orElse(0);
  }
}
