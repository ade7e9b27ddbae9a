package dev.tidepool.host;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.Locale;
import java.util.Objects;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The C library's functions for memory, a method for each. Nothing above this class and {@link
 * SystemMemory} sees an address.
 *
 * <p>A function that the system lacks, or that this process may not call, has a null handle; its
 * {@code has} method says so and must be asked first.
 */
final class CLibrary {
  static final boolean LINUX = systemIs("linux");
  static final boolean MAC = systemIs("mac");
  static final boolean WINDOWS = systemIs("windows");

  /** The errors that these functions return, on Linux. */
  static final int ENOMEM = 12;

  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
  private static final int MADV_HUGEPAGE = 14;
  private static final int RLIMIT_MEMLOCK = MAC ? 6 : 8;

  private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle STATE_ERRNO =
      STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  private static final @Nullable MethodHandle ALIGNED_ALLOC =
      WINDOWS ? null : find("aligned_alloc", FunctionDescriptor.of(ADDRESS, JAVA_LONG, JAVA_LONG));
  private static final @Nullable MethodHandle FREE =
      WINDOWS ? null : find("free", FunctionDescriptor.ofVoid(ADDRESS));
  private static final @Nullable MethodHandle WINDOWS_ALIGNED_MALLOC =
      WINDOWS
          ? find("_aligned_malloc", FunctionDescriptor.of(ADDRESS, JAVA_LONG, JAVA_LONG))
          : null;
  private static final @Nullable MethodHandle WINDOWS_ALIGNED_FREE =
      WINDOWS ? find("_aligned_free", FunctionDescriptor.ofVoid(ADDRESS)) : null;
  private static final @Nullable MethodHandle MMAP =
      LINUX
          ? find(
              "mmap",
              FunctionDescriptor.of(
                  ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG),
              ERRNO)
          : null;
  private static final @Nullable MethodHandle MUNMAP =
      LINUX ? find("munmap", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG), ERRNO) : null;
  private static final @Nullable MethodHandle MADVISE =
      LINUX ? find("madvise", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT)) : null;
  private static final @Nullable MethodHandle MLOCK =
      WINDOWS ? null : find("mlock", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));
  private static final @Nullable MethodHandle MUNLOCK =
      WINDOWS ? null : find("munlock", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));
  private static final @Nullable MethodHandle GETPAGESIZE =
      WINDOWS ? null : find("getpagesize", FunctionDescriptor.of(JAVA_INT));
  private static final @Nullable MethodHandle GETRLIMIT =
      WINDOWS ? null : find("getrlimit", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));

  private CLibrary() {}

  /** The result of a call that maps memory: an address, or 0 and the error. */
  record Mapped(long address, int errno) {}

  static boolean hasAlignedAllocation() {
    return WINDOWS
        ? WINDOWS_ALIGNED_MALLOC != null && WINDOWS_ALIGNED_FREE != null
        : ALIGNED_ALLOC != null && FREE != null;
  }

  static boolean hasMapping() {
    return MMAP != null && MUNMAP != null;
  }

  static boolean hasLocking() {
    return MLOCK != null && MUNLOCK != null;
  }

  /** Memory of {@code bytes}, a multiple of {@code alignment}; 0 if there is none. */
  static long alignedAllocate(long bytes, long alignment) {
    try {
      MemorySegment memory =
          WINDOWS
              ? (MemorySegment)
                  Objects.requireNonNull(WINDOWS_ALIGNED_MALLOC).invokeExact(bytes, alignment)
              : (MemorySegment) Objects.requireNonNull(ALIGNED_ALLOC).invokeExact(alignment, bytes);
      return memory.address();
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  static void alignedFree(long address) {
    MemorySegment memory = MemorySegment.ofAddress(address);
    try {
      if (WINDOWS) {
        Objects.requireNonNull(WINDOWS_ALIGNED_FREE).invokeExact(memory);
      } else {
        Objects.requireNonNull(FREE).invokeExact(memory);
      }
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Fresh pages of zeros, private to this process. */
  static Mapped map(long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      MemorySegment memory =
          (MemorySegment)
              Objects.requireNonNull(MMAP)
                  .invokeExact(
                      state,
                      MemorySegment.NULL,
                      bytes,
                      PROT_READ_WRITE,
                      MAP_PRIVATE_ANONYMOUS,
                      -1,
                      0L);
      return memory.address() == -1L
          ? new Mapped(0, (int) STATE_ERRNO.get(state, 0L))
          : new Mapped(memory.address(), 0);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** 0, or the error. */
  static int unmap(long address, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      int result =
          (int)
              Objects.requireNonNull(MUNMAP)
                  .invokeExact(state, MemorySegment.ofAddress(address), bytes);
      return result == 0 ? 0 : (int) STATE_ERRNO.get(state, 0L);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Asks for huge pages; whether the kernel took the advice. */
  static boolean adviseHugePages(long address, long bytes) {
    if (MADVISE == null) {
      return false;
    }
    try {
      return (int) MADVISE.invokeExact(MemorySegment.ofAddress(address), bytes, MADV_HUGEPAGE) == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Keeps pages in memory; whether the system allowed it. */
  static boolean lock(long address, long bytes) {
    try {
      return (int)
              Objects.requireNonNull(MLOCK).invokeExact(MemorySegment.ofAddress(address), bytes)
          == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Ends what {@link #lock} began; whether the system agreed. */
  static boolean unlock(long address, long bytes) {
    try {
      return (int)
              Objects.requireNonNull(MUNLOCK).invokeExact(MemorySegment.ofAddress(address), bytes)
          == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Bytes of one page; empty if the system does not say. */
  static OptionalLong pageSize() {
    if (GETPAGESIZE == null) {
      return OptionalLong.empty();
    }
    try {
      return OptionalLong.of((int) GETPAGESIZE.invokeExact());
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Bytes that this process may lock, Long.MAX_VALUE if it has no limit; empty if not known. */
  static OptionalLong lockLimit() {
    if (GETRLIMIT == null) {
      return OptionalLong.empty();
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment limits = arena.allocate(JAVA_LONG, 2);
      if ((int) GETRLIMIT.invokeExact(RLIMIT_MEMLOCK, limits) != 0) {
        return OptionalLong.empty();
      }
      long soft = limits.getAtIndex(JAVA_LONG, 0);
      return OptionalLong.of(soft < 0 ? Long.MAX_VALUE : soft);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static @Nullable MethodHandle find(
      String name, FunctionDescriptor type, Linker.Option... options) {
    try {
      Linker linker = Linker.nativeLinker();
      return linker
          .defaultLookup()
          .find(name)
          .map(symbol -> linker.downcallHandle(symbol, type, options))
          .orElse(null);
    } catch (IllegalCallerException | UnsupportedOperationException e) {
      // Native access is denied to this module, or the platform has no linker: do without.
      return null;
    }
  }

  private static boolean systemIs(String name) {
    return System.getProperty("os.name", "").toLowerCase(Locale.ROOT).startsWith(name);
  }

  private static RuntimeException unexpected(Throwable e) {
    return switch (e) {
      case RuntimeException unchecked -> unchecked;
      case Error error -> throw error;
      default -> new IllegalStateException("a native call threw", e);
    };
  }
}
