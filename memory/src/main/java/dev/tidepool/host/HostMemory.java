package dev.tidepool.host;

import dev.tidepool.MemoryInfo;
import dev.tidepool.host.system.HeldFile;
import dev.tidepool.host.system.MacCalls;
import dev.tidepool.host.system.Platform;
import dev.tidepool.host.system.ProcFiles;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** How much memory this process may use, and how much of it is free now. */
public final class HostMemory {
  private static final HeldFile MEMINFO = new HeldFile(Path.of("/proc/meminfo"));

  private HostMemory() {}

  /**
   * Returns the machine's memory, or its control group's if that allows less. Asks the system each
   * time: some tens of microseconds.
   *
   * <p>On Linux free memory is what is available without swapping. On macOS it is computed from the
   * kernel's counts of pages, and elsewhere it is what the Java platform tells; both are marked as
   * estimates. Where nothing is known, the numbers are those of the Java heap.
   */
  public static MemoryInfo now() {
    return reading().info;
  }

  /**
   * Returns the bytes that are available now, swap included where it may be used. Requests for more
   * are refused.
   */
  static long obtainableBytes() {
    Reading reading = reading();
    return reading.info.freeBytes() + reading.freeSwap;
  }

  /** The machine's memory, and the swap that is free. */
  record Reading(MemoryInfo info, long freeSwap) {}

  private static Reading reading() {
    @Nullable Reading told =
        switch (Platform.CURRENT.system()) {
          case LINUX -> ofLinux(MEMINFO.text());
          case MACOS -> ofMacOs(MacCalls.number("hw.memsize"), MacCalls.obtainableMemory());
          case WINDOWS, OTHER -> null;
        };
    return told == null ? new Reading(ofJavaPlatform(), 0) : told;
  }

  private static @Nullable Reading ofLinux(String meminfo) {
    MemoryInfo machine = ofMeminfo(meminfo);
    return machine == null
        ? null
        : new Reading(within(machine, Cgroup.ofThisProcess()), kilobytes(meminfo, "SwapFree:"));
  }

  /** Returns what the kernel of macOS tells; null if it does not. */
  static @Nullable Reading ofMacOs(OptionalLong total, OptionalLong obtainable) {
    if (total.isEmpty() || obtainable.isEmpty()) {
      return null;
    }
    long free = Math.min(obtainable.getAsLong(), total.getAsLong());
    // The system makes swap files as it needs them, so that what is in use can make room.
    return new Reading(new MemoryInfo(total.getAsLong(), free, true), total.getAsLong() - free);
  }

  /** Returns the machine's memory as far as a control group allows it. */
  static MemoryInfo within(MemoryInfo machine, @Nullable Cgroup group) {
    return group == null || group.limitBytes() >= machine.totalBytes()
        ? machine
        : new MemoryInfo(
            group.limitBytes(),
            Math.min(machine.freeBytes(), group.freeBytes()),
            machine.freeIsEstimate());
  }

  /** Returns what {@code /proc/meminfo} says; null if it lacks the total. */
  static @Nullable MemoryInfo ofMeminfo(String meminfo) {
    long total = kilobytes(meminfo, "MemTotal:");
    if (total == 0) {
      return null;
    }
    boolean exact = find(meminfo, "MemAvailable:") >= 0;
    long free =
        exact
            ? kilobytes(meminfo, "MemAvailable:")
            : kilobytes(meminfo, "MemFree:") + kilobytes(meminfo, "Cached:");
    return new MemoryInfo(total, Math.min(free, total), !exact);
  }

  private static long kilobytes(String meminfo, String key) {
    int from = find(meminfo, key);
    if (from < 0) {
      return 0;
    }
    int end = meminfo.indexOf('\n', from);
    String[] words =
        meminfo.substring(from, end < 0 ? meminfo.length() : end).strip().split(" ", 2);
    return ProcFiles.parse(words[0], 0) * 1024;
  }

  /**
   * Where the line goes on behind a key; less than 0 if there is none. By search: it is quicker.
   */
  private static int find(String meminfo, String key) {
    int at = meminfo.startsWith(key) ? 0 : meminfo.indexOf("\n" + key) + 1;
    return meminfo.startsWith(key, at) ? at + key.length() : -1;
  }

  /** By reflection, so that the module jdk.management may be absent. */
  static MemoryInfo ofJavaPlatform() {
    try {
      Class<?> factory = Class.forName("java.lang.management.ManagementFactory");
      Class<?> bean = Class.forName("com.sun.management.OperatingSystemMXBean");
      MethodHandles.Lookup lookup = MethodHandles.publicLookup();
      Object system =
          lookup
              .findStatic(
                  factory,
                  "getPlatformMXBean",
                  MethodType.methodType(
                      Class.forName("java.lang.management.PlatformManagedObject"), Class.class))
              .invoke(bean);
      MethodType number = MethodType.methodType(long.class);
      long total = (long) lookup.findVirtual(bean, "getTotalMemorySize", number).invoke(system);
      long free = (long) lookup.findVirtual(bean, "getFreeMemorySize", number).invoke(system);
      return new MemoryInfo(total, free, true);
    } catch (Throwable e) {
      if (e instanceof Error error && !(e instanceof LinkageError)) {
        throw error;
      }
      Runtime runtime = Runtime.getRuntime();
      long free = runtime.maxMemory() - runtime.totalMemory() + runtime.freeMemory();
      return new MemoryInfo(runtime.maxMemory(), free, true);
    }
  }
}
