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

/** The memory that this process may use, and how much of it is free now. */
public final class HostMemory {
  private static final HeldFile MEMINFO = new HeldFile(Path.of("/proc/meminfo"));

  private HostMemory() {}

  /**
   * Returns the machine's memory, or the memory of the control group if that is less. Queries the
   * system at each call, which takes some tens of microseconds.
   *
   * <p>On Linux free memory is what is available without swapping. On macOS it is computed from the
   * kernel's counts of pages, and elsewhere the Java platform reports it; both are marked as
   * estimates. If nothing is known, the numbers are those of the Java heap.
   */
  public static MemoryInfo now() {
    return reading().info;
  }

  /** Returns the available bytes, usable swap included. Large requests for more are refused. */
  static long obtainableBytes() {
    Reading reading = reading();
    return reading.info.freeBytes() + reading.freeSwap;
  }

  /** The machine's memory, and the free swap. */
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

  /** Returns the memory as the macOS kernel reports it, or null if it does not. */
  static @Nullable Reading ofMacOs(OptionalLong total, OptionalLong obtainable) {
    if (total.isEmpty() || obtainable.isEmpty()) {
      return null;
    }
    long free = Math.min(obtainable.getAsLong(), total.getAsLong());
    // The system creates swap files as needed, so memory in use can be swapped out.
    return new Reading(new MemoryInfo(total.getAsLong(), free, true), total.getAsLong() - free);
  }

  /** Returns the part of the machine's memory that a control group allows. */
  static MemoryInfo within(MemoryInfo machine, @Nullable Cgroup group) {
    return group == null || group.limitBytes() >= machine.totalBytes()
        ? machine
        : new MemoryInfo(
            group.limitBytes(),
            Math.min(machine.freeBytes(), group.freeBytes()),
            machine.freeIsEstimate());
  }

  /** Returns the memory according to {@code /proc/meminfo}, or null if the total is missing. */
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

  /** Returns the index behind a key, or -1. A search is faster than splitting lines. */
  private static int find(String meminfo, String key) {
    int at = meminfo.startsWith(key) ? 0 : meminfo.indexOf("\n" + key) + 1;
    return meminfo.startsWith(key, at) ? at + key.length() : -1;
  }

  /** Returns the memory by reflection, so that the module jdk.management may be absent. */
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
