package dev.tidepool.host;

import dev.tidepool.host.system.LibC;
import dev.tidepool.host.system.MacCalls;
import dev.tidepool.host.system.OperatingSystem;
import dev.tidepool.host.system.OwnMemory;
import dev.tidepool.host.system.Platform;
import dev.tidepool.host.system.ProcFiles;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/**
 * The memory features of this machine. A feature that is absent or unknown is empty or zero.
 *
 * @param system the operating system with its version
 * @param architecture of the processor, as Java names it
 * @param processor its model, if known
 * @param processors the number of processors that this process may use
 * @param pageBytes bytes of a page
 * @param hugePageBytes bytes of a transparent huge page; 0 if the system has none
 * @param transparentHugePages the mode in which they are used, as the system names it: {@code
 *     always}, {@code madvise} or {@code never}
 * @param explicitHugePages the sizes of explicit huge pages and the numbers that are reserved, the
 *     largest first; empty if the system has none
 * @param numaNodes the numbers of the nodes whose memory this process may use; one node if the
 *     system knows none
 * @param numaPolicies whether this process may choose the nodes of its memory
 * @param pageLocking whether this process may lock a page now
 * @param lockLimitBytes the bytes that it may lock; {@link Long#MAX_VALUE} if there is no limit or
 *     the process may ignore it
 * @param lockLimitSetting the setting that raises the limit; empty if not known
 * @param addressMap whether the system has a map of this process's addresses. If not, wrapped
 *     memory is never page-locked, and blocks do not know their pages.
 * @param nativeAllocation whether the system allocates blocks; otherwise Java arenas do
 */
public record HostPlatform(
    String system,
    String architecture,
    Optional<String> processor,
    int processors,
    long pageBytes,
    long hugePageBytes,
    Optional<String> transparentHugePages,
    List<ExplicitHugePages> explicitHugePages,
    List<Integer> numaNodes,
    boolean numaPolicies,
    boolean pageLocking,
    OptionalLong lockLimitBytes,
    Optional<String> lockLimitSetting,
    boolean addressMap,
    boolean nativeAllocation) {
  /**
   * Explicit huge pages of one size.
   *
   * @param pageBytes bytes of a page
   * @param reserved pages that the administrator has reserved
   * @param free pages among them that no process uses or has claimed
   */
  public record ExplicitHugePages(long pageBytes, long reserved, long free) {
    static ExplicitHugePages of(long pageBytes) {
      long free = PageSizes.explicitPages(pageBytes, "free_hugepages");
      long spokenFor = PageSizes.explicitPages(pageBytes, "resv_hugepages");
      return new ExplicitHugePages(
          pageBytes,
          PageSizes.explicitPages(pageBytes, "nr_hugepages"),
          Math.max(0, free - spokenFor));
    }
  }

  private static final String LOCK_LIMIT = "Max locked memory";

  /** Larger limits are not tested, because the address space is too small. */
  private static final long LARGEST_TRIED = 1L << 40;

  /** The largest page that Linux uses on any processor. */
  private static final long LARGEST_PAGE = 256 << 10;

  /** Returns the current features of this machine. */
  public static HostPlatform probe() {
    return new HostPlatform(
        System.getProperty("os.name") + " " + System.getProperty("os.version"),
        System.getProperty("os.arch"),
        processorName(),
        Runtime.getRuntime().availableProcessors(),
        PageSizes.BYTES,
        PageSizes.HUGE_BYTES,
        PageSizes.transparentMode(),
        PageSizes.explicitSizes().stream().map(ExplicitHugePages::of).toList(),
        NumaNodes.usable(),
        NumaCalls.available(),
        canLock(),
        lockLimit(),
        lockLimitSetting(Platform.CURRENT.system()),
        OwnMemory.tellsAddresses(),
        LibC.hasAlignedAllocation());
  }

  /** Describes the platform for people: the value of each feature, or the effect of its absence. */
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
        explicitHugePages.isEmpty()
            ? "absent"
            : explicitHugePages.stream()
                .map(
                    size ->
                        size.free()
                            + " free of "
                            + size.reserved()
                            + " reserved, "
                            + size.pageBytes()
                            + " bytes each")
                .collect(Collectors.joining("; ")));
    lines.put(
        "NUMA nodes", numaNodes.stream().map(String::valueOf).collect(Collectors.joining(", ")));
    lines.put(
        "NUMA policies",
        numaPolicies ? "available" : "absent or forbidden: memory comes from any node");
    lines.put("page locking", pageLocking ? "available" : "absent: pinned memory is plain memory");
    lines.put(
        "lock limit",
        lockLimitBytes.isEmpty()
            ? "not told by the system"
            : lockLimitBytes.getAsLong() == Long.MAX_VALUE
                ? "none"
                : lockLimitBytes.getAsLong()
                    + " bytes"
                    + lockLimitSetting.map(setting -> " (" + setting + ")").orElse(""));
    lines.put(
        "address map",
        addressMap
            ? "available"
            : "absent: wrapped memory is not page-locked, and blocks do not tell their pages");
    lines.put(
        "native allocation",
        nativeAllocation ? "available" : "absent: blocks come from Java arenas");
    lines.put("shared memory", SharedFolder.describe());
    return lines;
  }

  /**
   * Returns the numbers of the NUMA nodes whose memory this process may use; one node if the system
   * knows none. Cheaper than {@link #probe()}.
   */
  public static List<Integer> usableNumaNodes() {
    return NumaNodes.usable();
  }

  /**
   * Returns whether this process may lock pages. If the process's limit does not allow it, locks a
   * page for a moment to find out. Cheaper than {@link #probe()}, which always does so.
   */
  public static boolean mayLockPages() {
    if (!LibC.hasLocking()) {
      return false;
    }
    return lockLimit(ProcFiles.lines(Path.of("/proc/self/limits"))) >= LARGEST_PAGE || canLock();
  }

  /** Returns the bytes that may be locked according to {@code /proc/self/limits}; 0 if unknown. */
  static long lockLimit(List<String> limits) {
    for (String line : limits) {
      if (line.startsWith(LOCK_LIMIT)) {
        String soft = line.substring(LOCK_LIMIT.length()).strip().split("\\s+", 2)[0];
        return soft.equals("unlimited") ? Long.MAX_VALUE : ProcFiles.parse(soft, 0);
      }
    }
    return 0;
  }

  /** Returns the processor's model, if known. */
  public static Optional<String> processorName() {
    return Platform.CURRENT.isMacOs()
        ? MacCalls.text("machdep.cpu.brand_string")
        : processorName(ProcFiles.lines(Path.of("/proc/cpuinfo")));
  }

  /** Returns the processor's model from the lines of {@code /proc/cpuinfo}. */
  static Optional<String> processorName(List<String> cpuinfo) {
    return cpuinfo.stream()
        .filter(line -> line.startsWith("model name") || line.startsWith("Model"))
        .map(line -> line.substring(line.indexOf(':') + 1).strip())
        .filter(name -> !name.isEmpty())
        .findFirst();
  }

  /**
   * Returns the limit, unless this process may ignore it. To find out, locks one page more than the
   * limit, without touching it.
   */
  private static OptionalLong lockLimit() {
    OptionalLong limit = smaller(LibC.lockLimit(), MacCalls.number("vm.user_wire_limit"));
    if (limit.isEmpty() || limit.getAsLong() > LARGEST_TRIED || !LibC.hasLockingWhenTouched()) {
      return limit;
    }
    long beyond = PageSizes.roundUp(limit.getAsLong(), PageSizes.BYTES) + PageSizes.BYTES;
    LibC.Mapped map = LibC.map(beyond);
    if (map.address() == 0) {
      return limit;
    }
    boolean privileged = LibC.lockWhenTouched(map.address(), beyond);
    MappedRegion.unmap(map.address(), beyond);
    return privileged ? OptionalLong.of(Long.MAX_VALUE) : limit;
  }

  private static OptionalLong smaller(OptionalLong one, OptionalLong other) {
    if (one.isEmpty() || other.isEmpty()) {
      return one.isEmpty() ? other : one;
    }
    return OptionalLong.of(Math.min(one.getAsLong(), other.getAsLong()));
  }

  /** Returns the setting that raises the limit of locked memory. */
  static Optional<String> lockLimitSetting(OperatingSystem system) {
    return switch (system) {
      case LINUX -> Optional.of("ulimit -l");
      case MACOS -> Optional.of("ulimit -l, sysctl vm.user_wire_limit");
      case WINDOWS, OTHER -> Optional.empty();
    };
  }

  private static boolean canLock() {
    return new MemoryAllocator()
        .tryAllocateLocked(HostRequest.of(1), new PinnedBudget(PageSizes.BYTES))
        .map(
            block -> {
              block.free();
              return true;
            })
        .orElse(false);
  }
}
