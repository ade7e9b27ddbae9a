package dev.tidepool.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * The resources that this process holds; 0 if the system does not report them.
 *
 * @param residentBytes the resident memory
 * @param files the open files
 * @param threads all threads, including those of the virtual machine
 */
record Holdings(long residentBytes, long files, long threads) {
  /** The tolerance for resident memory. */
  private static final long RESIDENT_SLACK = 192L << 20;

  /** The tolerance for files and threads, of which the virtual machine may need more. */
  private static final int SLACK = 20;

  /** Returns the resources after a garbage collection. */
  static Holdings now() throws IOException {
    System.gc();
    return new Holdings(resident(), count("fd"), count("task"));
  }

  /** Returns whether these resources exceed the first ones by more than the tolerances. */
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
