package dev.tidepool.host.system;

import java.util.Optional;
import java.util.function.Predicate;

/**
 * Which groups of C functions a process can use: a group needs its numbers from the {@link
 * Platform}, and each of its functions from the C library.
 *
 * @param aligned aligned memory
 * @param mapping pages of one's own
 * @param locking pages that stay in memory
 * @param setting setting bytes
 * @param preallocation the blocks of a file on disk
 * @param arrayTransfers files that are read into Java arrays and written from them
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
   * Returns the groups that a platform has.
   *
   * @param exists whether the C library has a function, and this process may call it
   */
  static FunctionGroups of(Platform platform, Predicate<String> exists) {
    return new FunctionGroups(
        all(exists, platform.aligned().allocate(), platform.aligned().free()),
        knows(platform.mapping()) && all(exists, "mmap", "munmap", "mprotect", "madvise"),
        knows(platform.locking()) && all(exists, "mlock", "munlock"),
        all(exists, "memset"),
        knows(platform.files()) && all(exists, "open", "fallocate", "close"),
        knows(platform.files()) && all(exists, "open", "pread", "pwrite", "close"),
        knows(platform.numa()) && all(exists, "syscall"));
  }

  private static boolean knows(Optional<?> numbers) {
    return numbers.isPresent();
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
