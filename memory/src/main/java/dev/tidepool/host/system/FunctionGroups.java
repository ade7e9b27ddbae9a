package dev.tidepool.host.system;

import java.util.function.Predicate;

/**
 * The groups of C functions that a process can use. A group needs its numbers from the {@link
 * Platform} and all its functions from the C library.
 *
 * @param aligned aligned memory
 * @param mapping mapping pages
 * @param locking locking pages in memory
 * @param setting setting bytes
 * @param preallocation allocating the disk blocks of a file
 * @param arrayTransfers reading files into Java arrays and writing them from arrays
 * @param numa calls for NUMA policies
 */
record FunctionGroups(
    boolean aligned,
    boolean mapping,
    boolean locking,
    boolean setting,
    boolean preallocation,
    boolean arrayTransfers,
    boolean numa) {

  /**
   * Returns the groups of a platform.
   *
   * @param exists whether the C library has a function and this process may call it
   */
  static FunctionGroups of(Platform platform, Predicate<String> exists) {
    return new FunctionGroups(
        all(exists, platform.aligned().allocate(), platform.aligned().free()),
        platform.mapping().isPresent() && all(exists, "mmap", "munmap", "mprotect", "madvise"),
        platform.locking().isPresent() && all(exists, "mlock", "munlock"),
        all(exists, "memset"),
        platform.files().isPresent() && all(exists, "open", "fallocate", "close"),
        platform.files().isPresent() && all(exists, "open", "pread", "pwrite", "close"),
        platform.numa().isPresent() && all(exists, "syscall"));
  }

  private static boolean all(Predicate<String> exists, String... names) {
    for (String name : names) {
      if (!exists.test(name)) {
        return false;
      }
    }
    return true;
  }
}
