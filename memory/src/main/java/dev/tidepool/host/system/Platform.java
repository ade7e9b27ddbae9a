package dev.tidepool.host.system;

import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * An operating system on a processor architecture: the numbers and names of its C library that
 * differ from one platform to the next. There is a value for each platform, and no other class
 * makes decisions by the system's name. A feature that a platform lacks is empty, and callers do
 * without it.
 *
 * <p>The numbers are those of the system's headers. {@code constants.csv} beside the tests names
 * the header of each. A test compares it with these values, and with the headers of the machine.
 *
 * @param system the operating system
 * @param aligned the functions for aligned memory
 * @param mapping for mapping pages
 * @param hugePages for huge pages
 * @param locking for locking pages in memory
 * @param numa for NUMA policies
 * @param files for files with descriptors
 * @param signals for signal handlers
 */
public record Platform(
    OperatingSystem system,
    Aligned aligned,
    Optional<Mapping> mapping,
    Optional<HugePages> hugePages,
    Optional<Locking> locking,
    Optional<Numa> numa,
    Optional<FileFlags> files,
    Optional<Signals> signals) {

  /**
   * How the C library allocates aligned memory.
   *
   * @param allocate the name of the function
   * @param free the name of the function that frees the memory
   * @param sizeFirst whether the size comes before the alignment
   */
  public record Aligned(String allocate, String free, boolean sizeFirst) {}

  /**
   * Flags of {@code mmap}.
   *
   * @param privateAnonymous {@code MAP_PRIVATE | MAP_ANONYMOUS}
   * @param noReserve {@code MAP_NORESERVE}
   */
  public record Mapping(int privateAnonymous, int noReserve) {}

  /**
   * Flags of {@code mmap} and advice of {@code madvise} for huge pages.
   *
   * @param flag {@code MAP_HUGETLB}
   * @param sizeShift {@code MAP_HUGE_SHIFT}
   * @param use {@code MADV_HUGEPAGE}
   * @param avoid {@code MADV_NOHUGEPAGE}
   * @param populate {@code MADV_POPULATE_WRITE}
   */
  public record HugePages(int flag, int sizeShift, int use, int avoid, int populate) {}

  /**
   * Numbers for page locking.
   *
   * @param limit {@code RLIMIT_MEMLOCK}
   * @param onFault {@code MLOCK_ONFAULT}
   */
  public record Locking(int limit, OptionalInt onFault) {}

  /** The numbers of the system calls for NUMA policies. */
  public record Numa(long mbind, long setPolicy, long getPolicy) {}

  /**
   * Flags of calls for files.
   *
   * @param read {@code O_RDONLY | O_CLOEXEC}
   * @param write {@code O_WRONLY | O_CLOEXEC}
   * @param keepSize {@code FALLOC_FL_KEEP_SIZE}
   */
  public record FileFlags(int read, int write, int keepSize) {}

  /**
   * Signals and the structure {@code sigaction}, whose first bytes are the handler and its mask.
   *
   * @param last the last standard signal
   * @param actionBytes bytes of the structure
   * @param comparedBytes the bytes at its beginning that identify a handler
   */
  public record Signals(int last, long actionBytes, long comparedBytes) {}

  private static final Aligned C11 = new Aligned("aligned_alloc", "free", false);
  private static final Aligned MICROSOFT = new Aligned("_aligned_malloc", "_aligned_free", true);

  private static final Platform MACOS =
      new Platform(
          OperatingSystem.MACOS,
          C11,
          Optional.of(new Mapping(0x1002, 0x40)),
          Optional.empty(),
          Optional.of(new Locking(6, OptionalInt.empty())),
          Optional.empty(),
          Optional.empty(),
          Optional.of(new Signals(31, 16, 16)));

  public static final Platform CURRENT =
      of(System.getProperty("os.name", ""), System.getProperty("os.arch", ""));

  /** Returns the platform for the Java properties {@code os.name} and {@code os.arch}. */
  public static Platform of(String name, String architecture) {
    OperatingSystem system = OperatingSystem.named(name);
    return switch (system) {
      case LINUX -> linux(architecture.toLowerCase(Locale.ROOT));
      case MACOS -> MACOS;
      case WINDOWS -> bare(system, MICROSOFT);
      case OTHER -> bare(system, C11);
    };
  }

  /** Returns Linux. The numbers of the NUMA calls, and a few flags, depend on the architecture. */
  private static Platform linux(String architecture) {
    return switch (architecture) {
      case "amd64", "x86_64" -> linux(Optional.of(new Numa(237, 238, 239)));
      case "aarch64", "riscv64" -> linux(Optional.of(new Numa(235, 237, 236)));
      case "s390x", "loongarch64" -> linux(Optional.empty());
      default -> bare(OperatingSystem.LINUX, C11);
    };
  }

  private static Platform linux(Optional<Numa> numa) {
    return new Platform(
        OperatingSystem.LINUX,
        C11,
        Optional.of(new Mapping(0x22, 0x4000)),
        Optional.of(new HugePages(0x40000, 26, 14, 15, 23)),
        Optional.of(new Locking(8, OptionalInt.of(1))),
        numa,
        Optional.of(new FileFlags(0x80000, 0x80001, 1)),
        Optional.of(new Signals(31, 152, 16)));
  }

  private static Platform bare(OperatingSystem system, Aligned aligned) {
    return new Platform(
        system,
        aligned,
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Optional.empty());
  }

  public boolean isLinux() {
    return system == OperatingSystem.LINUX;
  }

  public boolean isMacOs() {
    return system == OperatingSystem.MACOS;
  }
}
