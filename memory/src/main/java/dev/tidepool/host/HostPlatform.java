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
 * @param explicitHugePages the sizes of explicit huge pages, and how many are set aside; largest
 *     first, empty if the system has none
 * @param numaNodes the numbers of the nodes whose memory this process may use; one where the system
 *     knows of none
 * @param numaPolicies whether this process may say from which nodes memory comes
 * @param pageLocking whether this process may lock a page now
 * @param lockLimitBytes bytes that it may lock, {@link Long#MAX_VALUE} if not limited or privileged
 *     to ignore the limit
 * @param lockLimitSetting what an administrator changes to raise the limit; empty if not known
 * @param addressMap whether the system tells what lies at the addresses of this process. If not,
 *     wrapped memory is never page-locked, and blocks do not tell their pages
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
   * @param reserved pages that the administrator has set aside
   * @param free pages of them that no process uses or has reserved
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

  /** Larger limits are not tested, because there are not so many addresses. */
  private static final long LARGEST_TRIED = 1L << 40;

  /** The largest page that Linux uses on any processor. */
  private static final long LARGEST_PAGE = 256 << 10;

  /** Returns what the system says now. */
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

  /** Describes the platform for people: names, and what each is or why it is absent. */
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
   * The numbers of the NUMA nodes whose memory this process may use; one where the system knows of
   * none. Cheaper than {@link #probe()}.
   */
  public static List<Integer> usableNumaNodes() {
    return NumaNodes.usable();
  }

  /**
   * Returns whether this process may lock pages, as far as its limit says; where the limit does not
   * say yes, a page is locked for a moment to find out. Cheaper than {@link #probe()}, which always
   * tries.
   */
  public static boolean mayLockPages() {
    if (!LibC.hasLocking()) {
      return false;
    }
    return lockLimit(ProcFiles.lines(Path.of("/proc/self/limits"))) >= LARGEST_PAGE || canLock();
  }

  /**
   * Returns what {@code /proc/self/limits} says of bytes that may be locked; 0 if it does not tell.
   */
  static long lockLimit(List<String> limits) {
    for (String line : limits) {
      if (line.startsWith(LOCK_LIMIT)) {
        String soft = line.substring(LOCK_LIMIT.length()).strip().split("\\s+", 2)[0];
        return soft.equals("unlimited") ? Long.MAX_VALUE : ProcFiles.parse(soft, 0);
      }
    }
    return 0;
  }

  /** Returns the processor's model, if the system tells. */
  public static Optional<String> processorName() {
    return Platform.CURRENT.isMacOs()
        ? MacCalls.text("machdep.cpu.brand_string")
        : processorName(ProcFiles.lines(Path.of("/proc/cpuinfo")));
  }

  /** Returns the processor's model by the lines of {@code /proc/cpuinfo}. */
  static Optional<String> processorName(List<String> cpuinfo) {
    return cpuinfo.stream()
        .filter(line -> line.startsWith("model name") || line.startsWith("Model"))
        .map(line -> line.substring(line.indexOf(':') + 1).strip())
        .filter(name -> !name.isEmpty())
        .findFirst();
  }

  /**
   * Returns the limit, unless this process may ignore it: one page more is locked then, untouched.
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

  /** Returns what an administrator changes to raise the limit of locked memory. */
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
