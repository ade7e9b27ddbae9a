package dev.tidepool.host.system;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * The C library's functions for memory, a method for each. Nothing above this class, {@code
 * NumaCalls}, and what {@code MappedRegion} does with them sees an address.
 *
 * <p>Functions that the system lacks, or that this process may not call, must not be called; the
 * {@code has} method of their group says so and must be asked first, unless the method says that it
 * can do without. Linking a function takes milliseconds, so a group is a class of its own, which is
 * initialised by its first use: a short-lived process links two or three functions.
 */
public final class LibC {
  public static final boolean LINUX = systemIs("linux");
  public static final boolean MAC = systemIs("mac");
  public static final boolean WINDOWS = systemIs("windows");

  /** The errors that these functions return, on Linux. */
  public static final int ENOMEM = 12;

  private static final int PROT_NONE = 0;
  private static final int PROT_READ_WRITE = 3;
  private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
  private static final int MAP_NORESERVE = 0x4000;
  private static final int MAP_HUGETLB = 0x40000;
  private static final int MAP_HUGE_SHIFT = 26;
  private static final int MLOCK_ONFAULT = 1;
  private static final int RLIMIT_MEMLOCK = MAC ? 6 : 8;

  private static final boolean CALLABLE = callable();
  private static final boolean HAS_ALIGNED_ALLOCATION =
      WINDOWS ? has("_aligned_malloc", "_aligned_free") : has("aligned_alloc", "free");
  private static final boolean HAS_MAPPING = LINUX && has("mmap", "munmap", "mprotect", "madvise");
  private static final boolean HAS_LOCKING = !WINDOWS && has("mlock", "munlock");
  private static final boolean HAS_SETTING = has("memset");
  private static final boolean HAS_PREALLOCATION = LINUX && has("open", "fallocate", "close");
  private static final int WRITE_ONLY_CLOSED_ON_EXEC = 0x80001;
  private static final int KEEP_SIZE = 1;

  /** The C library's heap. Windows takes the size first, the others the alignment. */
  private static final class Heap {
    static final MethodHandle ALLOCATE =
        link(
            WINDOWS ? "_aligned_malloc" : "aligned_alloc",
            FunctionDescriptor.of(ADDRESS, JAVA_LONG, JAVA_LONG));
    static final MethodHandle FREE =
        link(WINDOWS ? "_aligned_free" : "free", FunctionDescriptor.ofVoid(ADDRESS));
  }

  private static final class Mapping {
    static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
    static final StructLayout STATE = Linker.Option.captureStateLayout();
    static final VarHandle STATE_ERRNO =
        STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    static final MethodHandle MMAP =
        link(
            "mmap",
            FunctionDescriptor.of(
                ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG),
            ERRNO);
    static final MethodHandle MUNMAP =
        link("munmap", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG), ERRNO);
    static final MethodHandle MADVISE =
        link("madvise", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
  }

  private static final class Protection {
    static final MethodHandle MPROTECT =
        link("mprotect", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
  }

  private static final class Setting {
    static final MethodHandle MEMSET =
        link("memset", FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT, JAVA_LONG));
  }

  private static final class Preallocation {
    static final MethodHandle OPEN =
        link("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    static final MethodHandle FALLOCATE =
        link(
            "fallocate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
    static final MethodHandle CLOSE = link("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
  }

  private static final class Locking {
    static final MethodHandle MLOCK =
        link("mlock", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));
    static final MethodHandle MUNLOCK =
        link("munlock", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));
  }

  private static final class LaterLocking {
    static final MethodHandle MLOCK2 =
        link("mlock2", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
  }

  private static final class PageSize {
    static final MethodHandle GETPAGESIZE = link("getpagesize", FunctionDescriptor.of(JAVA_INT));
  }

  private static final class Limits {
    static final MethodHandle GETRLIMIT =
        link("getrlimit", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
  }

  private static final class User {
    static final MethodHandle GETEUID = link("geteuid", FunctionDescriptor.of(JAVA_INT));
  }

  private LibC() {}

  /** The result of a call that maps memory: an address, or 0 and the error. */
  public record Mapped(long address, int errno) {}

  public static boolean hasAlignedAllocation() {
    return HAS_ALIGNED_ALLOCATION;
  }

  public static boolean hasMapping() {
    return HAS_MAPPING;
  }

  public static boolean hasLocking() {
    return HAS_LOCKING;
  }

  public static boolean hasPreallocation() {
    return HAS_PREALLOCATION;
  }

  /**
   * Allocates the blocks on disk of a file's first bytes, if the system can; its length stays.
   * Answers whether it did.
   */
  public static boolean preallocate(String path, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom(path);
      int file = (int) Preallocation.OPEN.invokeExact(name, WRITE_ONLY_CLOSED_ON_EXEC);
      if (file < 0) {
        return false;
      }
      int failed = (int) Preallocation.FALLOCATE.invokeExact(file, KEEP_SIZE, 0L, bytes);
      var _ = (int) Preallocation.CLOSE.invokeExact(file);
      return failed == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  public static boolean hasSetting() {
    return HAS_SETTING;
  }

  /**
   * Sets all bytes of {@linkplain OwnMemory own memory}, which stays alive meanwhile. The process
   * would end if the bytes vanished.
   */
  public static void set(MemorySegment memory, byte value) {
    try {
      var _ = (MemorySegment) Setting.MEMSET.invokeExact(memory, (int) value, memory.byteSize());
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Memory of {@code bytes}, a multiple of {@code alignment}; 0 if there is none. */
  public static long alignedAllocate(long bytes, long alignment) {
    try {
      MemorySegment memory =
          WINDOWS
              ? (MemorySegment) Heap.ALLOCATE.invokeExact(bytes, alignment)
              : (MemorySegment) Heap.ALLOCATE.invokeExact(alignment, bytes);
      return memory.address();
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  public static void alignedFree(long address) {
    try {
      Heap.FREE.invokeExact(MemorySegment.ofAddress(address));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Fresh pages of zeros, private to this process. */
  public static Mapped map(long bytes) {
    return map(bytes, PROT_READ_WRITE, 0);
  }

  /** Addresses that nothing may touch yet and that cost no memory; see {@link #open}. */
  public static Mapped reserve(long bytes) {
    return map(bytes, PROT_NONE, MAP_NORESERVE);
  }

  /**
   * Fresh explicit huge pages of zeros, aligned to their size.
   *
   * @param bytes a multiple of the size
   * @param pageBytes their size, which the system has
   * @param setAside whether the pages are set aside at once; if not, only {@link Advice#POPULATE}
   *     tells whether there are enough
   */
  public static Mapped mapHuge(long bytes, long pageBytes, boolean setAside) {
    int size = Long.numberOfTrailingZeros(pageBytes) << MAP_HUGE_SHIFT;
    return map(bytes, PROT_READ_WRITE, MAP_HUGETLB | size | (setAside ? 0 : MAP_NORESERVE));
  }

  private static Mapped map(long bytes, int protection, int flags) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(Mapping.STATE);
      MemorySegment memory =
          (MemorySegment)
              Mapping.MMAP.invokeExact(
                  state,
                  MemorySegment.NULL,
                  bytes,
                  protection,
                  MAP_PRIVATE_ANONYMOUS | flags,
                  -1,
                  0L);
      return memory.address() == -1L
          ? new Mapped(0, (int) Mapping.STATE_ERRNO.get(state, 0L))
          : new Mapped(memory.address(), 0);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Makes reserved pages usable; whether the system had them. */
  public static boolean open(long address, long bytes) {
    try {
      return (int)
              Protection.MPROTECT.invokeExact(
                  MemorySegment.ofAddress(address), bytes, PROT_READ_WRITE)
          == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** 0, or the error. */
  public static int unmap(long address, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(Mapping.STATE);
      int result = (int) Mapping.MUNMAP.invokeExact(state, MemorySegment.ofAddress(address), bytes);
      return result == 0 ? 0 : (int) Mapping.STATE_ERRNO.get(state, 0L);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** What the system can be advised of pages. */
  public enum Advice {
    /** Huge ones, please. */
    HUGE(14),
    /** No huge ones. */
    SMALL(15),
    /** All of them now; where there are none this says so, while a touch would be a SIGBUS. */
    POPULATE(23);

    private final int code;

    Advice(int code) {
      this.code = code;
    }
  }

  /** Gives advice; whether the kernel took it. */
  public static boolean advise(long address, long bytes, Advice advice) {
    try {
      return (int) Mapping.MADVISE.invokeExact(MemorySegment.ofAddress(address), bytes, advice.code)
          == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Keeps pages in memory; whether the system allowed it. */
  public static boolean lock(long address, long bytes) {
    try {
      return (int) Locking.MLOCK.invokeExact(MemorySegment.ofAddress(address), bytes) == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Ends what {@link #lock} began; whether the system agreed. */
  public static boolean unlock(long address, long bytes) {
    try {
      return (int) Locking.MUNLOCK.invokeExact(MemorySegment.ofAddress(address), bytes) == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Keeps pages in memory from their first touch on; false also where that is unknown. */
  public static boolean lockWhenTouched(long address, long bytes) {
    if (!has("mlock2")) {
      return false;
    }
    try {
      return (int)
              LaterLocking.MLOCK2.invokeExact(
                  MemorySegment.ofAddress(address), bytes, MLOCK_ONFAULT)
          == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Bytes of one page; empty if the system does not say. */
  public static OptionalLong pageSize() {
    if (WINDOWS || !has("getpagesize")) {
      return OptionalLong.empty();
    }
    try {
      return OptionalLong.of((int) PageSize.GETPAGESIZE.invokeExact());
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Bytes that this process may lock, Long.MAX_VALUE if it has no limit; empty if not known. */
  public static OptionalLong lockLimit() {
    if (WINDOWS || !has("getrlimit")) {
      return OptionalLong.empty();
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment limits = arena.allocate(JAVA_LONG, 2);
      if ((int) Limits.GETRLIMIT.invokeExact(RLIMIT_MEMLOCK, limits) != 0) {
        return OptionalLong.empty();
      }
      long soft = limits.getAtIndex(JAVA_LONG, 0);
      return OptionalLong.of(soft < 0 ? Long.MAX_VALUE : soft);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** The user in whose name this process acts, an unsigned number; empty if not known. */
  public static OptionalInt user() {
    if (WINDOWS || !has("geteuid")) {
      return OptionalInt.empty();
    }
    try {
      return OptionalInt.of((int) User.GETEUID.invokeExact());
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Whether this platform has a linker and this module may call native code. */
  private static boolean callable() {
    try {
      Linker.nativeLinker();
      // The cheapest of the calls that need the permission, and that warn where it was not given.
      return MemorySegment.NULL.reinterpret(0).byteSize() == 0;
    } catch (IllegalCallerException | UnsupportedOperationException e) {
      return false;
    }
  }

  public static boolean has(String... names) {
    if (!CALLABLE) {
      return false;
    }
    SymbolLookup library = Linker.nativeLinker().defaultLookup();
    for (String name : names) {
      if (library.find(name).isEmpty()) {
        return false;
      }
    }
    return true;
  }

  public static MethodHandle link(String name, FunctionDescriptor type, Linker.Option... options) {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type, options);
  }

  private static boolean systemIs(String name) {
    return System.getProperty("os.name", "").toLowerCase(Locale.ROOT).startsWith(name);
  }

  public static RuntimeException unexpected(Throwable e) {
    if (e instanceof Error error) {
      throw error;
    }
    return e instanceof RuntimeException unchecked
        ? unchecked
        : new IllegalStateException("a native call threw", e);
  }
}
