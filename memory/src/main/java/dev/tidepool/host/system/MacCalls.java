package dev.tidepool.host.system;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The functions of macOS for data that Linux has in files. Each result is empty on other systems,
 * and if the kernel does not report it.
 */
public final class MacCalls {
  static final int HOST_VM_INFO64 = 4;
  private static final boolean AVAILABLE =
      Platform.CURRENT.isMacOs() && LibC.has("sysctlbyname", "mach_host_self", "host_statistics64");

  private static final class Calls {
    static final MethodHandle SYSCTLBYNAME =
        LibC.link(
            "sysctlbyname",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG));
    static final MethodHandle HOST_STATISTICS64 =
        LibC.link(
            "host_statistics64",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS));

    /** Only one, because the kernel counts each request for the port. */
    static final int HOST = host();

    private static int host() {
      try {
        return (int) LibC.link("mach_host_self", FunctionDescriptor.of(JAVA_INT)).invokeExact();
      } catch (Throwable e) {
        throw LibC.unexpected(e);
      }
    }
  }

  private MacCalls() {}

  /** Returns the kernel's number with a name, such as {@code hw.memsize}. */
  public static OptionalLong number(String name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(JAVA_LONG);
      return switch ((int) read(arena, name, value)) {
        case Integer.BYTES -> OptionalLong.of(value.get(JAVA_INT, 0));
        case Long.BYTES -> OptionalLong.of(value.get(JAVA_LONG, 0));
        default -> OptionalLong.empty();
      };
    }
  }

  /** Returns the kernel's text with a name, such as {@code machdep.cpu.brand_string}. */
  public static Optional<String> text(String name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(256);
      return read(arena, name, value) == 0
          ? Optional.empty()
          : Optional.of(value.getString(0, StandardCharsets.UTF_8).strip());
    }
  }

  /** Returns the bytes that programs can get without compression or swapping. */
  public static OptionalLong obtainableMemory() {
    OptionalLong pageBytes = LibC.pageSize();
    if (!AVAILABLE || pageBytes.isEmpty()) {
      return OptionalLong.empty();
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment counts = arena.allocate(PageCounts.BYTES, Long.BYTES);
      MemorySegment words = arena.allocateFrom(JAVA_INT, PageCounts.WORDS);
      int failed =
          (int) Calls.HOST_STATISTICS64.invokeExact(Calls.HOST, HOST_VM_INFO64, counts, words);
      return failed == 0
          ? OptionalLong.of(PageCounts.of(counts).obtainable() * pageBytes.getAsLong())
          : OptionalLong.empty();
    } catch (Throwable e) {
      throw LibC.unexpected(e);
    }
  }

  /** Reads a value. Returns its length in bytes, or 0 if the kernel does not report it. */
  private static long read(Arena arena, String name, MemorySegment value) {
    if (!AVAILABLE) {
      return 0;
    }
    try {
      MemorySegment bytes = arena.allocateFrom(JAVA_LONG, value.byteSize());
      int failed =
          (int)
              Calls.SYSCTLBYNAME.invokeExact(
                  arena.allocateFrom(name), value, bytes, MemorySegment.NULL, 0L);
      return failed == 0 ? bytes.get(JAVA_LONG, 0) : 0;
    } catch (Throwable e) {
      throw LibC.unexpected(e);
    }
  }
}
