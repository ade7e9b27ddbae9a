package dev.tidepool.host;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What this machine offers to memory; what it lacks, or does not tell, is empty or zero.
 *
 * @param system the operating system with its version
 * @param architecture of the processor, as Java calls it
 * @param processor its model, if the system tells
 * @param processors how many this process may use
 * @param pageBytes bytes of a page
 * @param hugePageBytes bytes of a transparent huge page; 0 if the system has none
 * @param transparentHugePages when they are used, as the system calls it: {@code always}, {@code
 *     madvise} or {@code never}
 * @param reservedHugePages explicit huge pages set aside by the administrator
 * @param numaNodes nodes of memory; 0 if the system does not tell
 * @param pageLocking whether this process may lock a page now
 * @param lockLimitBytes bytes that it may lock, {@link Long#MAX_VALUE} if not limited; privileged
 *     processes may lock more
 * @param nativeAllocation whether blocks come from the system; else from arenas of Java
 */
public record HostPlatform(
    String system,
    String architecture,
    Optional<String> processor,
    int processors,
    long pageBytes,
    long hugePageBytes,
    Optional<String> transparentHugePages,
    long reservedHugePages,
    int numaNodes,
    boolean pageLocking,
    OptionalLong lockLimitBytes,
    boolean nativeAllocation) {
  private static final String LOCK_LIMIT = "Max locked memory";

  /** The largest page that Linux uses on any processor. */
  private static final long LARGEST_PAGE = 256 << 10;

  /** What the system says now. */
  public static HostPlatform probe() {
    return new HostPlatform(
        System.getProperty("os.name") + " " + System.getProperty("os.version"),
        System.getProperty("os.arch"),
        processorName(),
        Runtime.getRuntime().availableProcessors(),
        Pages.BYTES,
        Pages.HUGE_BYTES,
        transparentMode(),
        reserved(),
        nodes(),
        canLock(),
        CLibrary.lockLimit(),
        CLibrary.hasAlignedAllocation());
  }

  /** The same for people: what it is called, and what it is or why it is not there. */
  public Map<String, String> describe() {
    Map<String, String> lines = new LinkedHashMap<>();
    lines.put("system", system + ", " + architecture);
    lines.put("processor", processor.orElse("name not told by the system") + " x " + processors);
    lines.put("pages", pageBytes + " bytes");
    lines.put(
        "transparent huge pages",
        hugePageBytes == 0
            ? "absent"
            : hugePageBytes + " bytes, " + transparentHugePages.orElse("mode unknown"));
    lines.put(
        "explicit huge pages",
        reservedHugePages == 0 ? "none reserved" : reservedHugePages + " reserved");
    lines.put("NUMA nodes", numaNodes == 0 ? "not told by the system" : String.valueOf(numaNodes));
    lines.put("page locking", pageLocking ? "available" : "absent: pinned memory is plain memory");
    lines.put(
        "lock limit",
        lockLimitBytes.isEmpty()
            ? "not told by the system"
            : lockLimitBytes.getAsLong() == Long.MAX_VALUE
                ? "none"
                : lockLimitBytes.getAsLong() + " bytes (ulimit -l)");
    lines.put(
        "native allocation",
        nativeAllocation ? "available" : "absent: blocks come from Java arenas");
    return lines;
  }

  /**
   * Whether this process may lock pages, as far as its limit says; where the limit does not say
   * yes, a page is locked for a moment to find out. Cheaper than {@link #probe()}, which always
   * tries.
   */
  public static boolean mayLockPages() {
    if (!CLibrary.hasLocking()) {
      return false;
    }
    return lockLimit(SystemFiles.lines(Path.of("/proc/self/limits"))) >= LARGEST_PAGE || canLock();
  }

  /** What {@code /proc/self/limits} says of bytes that may be locked; 0 if it does not tell. */
  static long lockLimit(List<String> limits) {
    for (String line : limits) {
      if (line.startsWith(LOCK_LIMIT)) {
        String soft = line.substring(LOCK_LIMIT.length()).strip().split("\\s+", 2)[0];
        return soft.equals("unlimited") ? Long.MAX_VALUE : SystemFiles.parse(soft, 0);
      }
    }
    return 0;
  }

  /** The processor's model, if the system tells. */
  public static Optional<String> processorName() {
    return SystemFiles.lines(Path.of("/proc/cpuinfo")).stream()
        .filter(line -> line.startsWith("model name") || line.startsWith("Model"))
        .map(line -> line.substring(line.indexOf(':') + 1).strip())
        .filter(name -> !name.isEmpty())
        .findFirst();
  }

  /** The file lists all modes, with the one in force in brackets. */
  private static Optional<String> transparentMode() {
    return SystemFiles.lines(Pages.TRANSPARENT_HUGE.resolve("enabled")).stream()
        .filter(line -> line.indexOf('[') >= 0 && line.indexOf(']') > line.indexOf('['))
        .map(line -> line.substring(line.indexOf('[') + 1, line.indexOf(']')))
        .findFirst();
  }

  private static long reserved() {
    return SystemFiles.number(Path.of("/proc/sys/vm/nr_hugepages"), 0);
  }

  private static int nodes() {
    return SystemFiles.lines(Path.of("/sys/devices/system/node/online")).stream()
        .mapToInt(HostPlatform::countRange)
        .sum();
  }

  /** Counts what a list such as {@code 0-3,8} names. */
  static int countRange(String list) {
    int count = 0;
    for (String part : list.strip().split(",", -1)) {
      String[] ends = part.split("-", -1);
      long first = SystemFiles.parse(ends[0], -1);
      long last = SystemFiles.parse(ends[ends.length - 1], -1);
      if (first >= 0 && last >= first) {
        count += (int) (last - first + 1);
      }
    }
    return count;
  }

  private static boolean canLock() {
    return MemoryAllocator.lockedOrEmpty(1, 1, new PinnedBudget(Pages.BYTES))
        .map(
            block -> {
              block.free();
              return true;
            })
        .orElse(false);
  }
}
