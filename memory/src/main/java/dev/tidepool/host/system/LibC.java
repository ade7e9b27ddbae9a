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
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

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
  /** The error of a system that has no memory, on Linux and macOS. */
  public static final int ENOMEM = 12;

  static final int PROT_NONE = 0;
  static final int PROT_READ_WRITE = 3;

  /** {@code struct rlimit}: the limit now, and the largest that may be set. */
  static final long LIMIT_BYTES = 16;

  private static final Platform PLATFORM = Platform.CURRENT;
  private static final boolean CALLABLE = callable();
  private static final boolean UTF_8_NAMES = "UTF-8".equals(System.getProperty("sun.jnu.encoding"));
  private static final FunctionGroups GROUPS = FunctionGroups.of(PLATFORM, LibC::has);
  private static final boolean SIZE_FIRST = PLATFORM.aligned().sizeFirst();
  private static final Platform.@Nullable HugePages HUGE_PAGES = PLATFORM.hugePages().orElse(null);

  private static final class Heap {
    static final MethodHandle ALLOCATE =
        link(PLATFORM.aligned().allocate(), FunctionDescriptor.of(ADDRESS, JAVA_LONG, JAVA_LONG));
    static final MethodHandle FREE =
        link(PLATFORM.aligned().free(), FunctionDescriptor.ofVoid(ADDRESS));
  }

  private static final class Mapping {
    static final Platform.Mapping FLAGS = PLATFORM.mapping().orElseThrow();
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

  /**
   * Functions that take descriptors, as one type: the time to link goes by types, not by functions.
   * Linux passes the arguments of these in registers. A function reads its own registers only, and
   * of a register no more than its argument has.
   */
  private static final class Descriptors {
    static final Platform.FileFlags FLAGS = PLATFORM.files().orElseThrow();
    static final FunctionDescriptor TYPE =
        FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG);
    static final MethodHandle OPEN = link("open", TYPE);
    static final MethodHandle CLOSE = link("close", TYPE);
  }

  private static final class Preallocation {
    static final MethodHandle FALLOCATE = link("fallocate", Descriptors.TYPE);
  }

  /** Critical: an array stays where it is for the time of a call, and so does the collector. */
  private static final class ArrayTransfers {
    static final FunctionDescriptor TYPE =
        FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG);
    static final MethodHandle PREAD = link("pread", TYPE, Linker.Option.critical(true));
    static final MethodHandle PWRITE = link("pwrite", TYPE, Linker.Option.critical(true));
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

  private static final class Terminal {
    static final MethodHandle ISATTY = link("isatty", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
  }

  private static final class User {
    static final MethodHandle GETEUID = link("geteuid", FunctionDescriptor.of(JAVA_INT));
  }

  private LibC() {}

  /** The result of a call that maps memory: an address, or 0 and the error. */
  public record Mapped(long address, int errno) {}

  public static boolean hasAlignedAllocation() {
    return GROUPS.aligned();
  }

  public static boolean hasMapping() {
    return GROUPS.mapping();
  }

  public static boolean hasLocking() {
    return GROUPS.locking();
  }

  public static boolean hasPreallocation() {
    return GROUPS.preallocation();
  }

  /** Returns whether the platform's NUMA calls have numbers and can be made. */
  public static boolean hasNumaCalls() {
    return GROUPS.numa();
  }

  /**
   * Allocates the blocks on disk of a file's first bytes, if the system can; its length stays.
   * Returns whether it did.
   */
  public static boolean preallocate(String path, long bytes) {
    int file = openFile(path, true);
    if (file < 0) {
      return false;
    }
    try {
      int keepSize = Descriptors.FLAGS.keepSize();
      int failed = (int) Preallocation.FALLOCATE.invokeExact((long) file, keepSize, 0L, bytes);
      var _ = closeFile(file);
      return failed == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns whether {@link #readInto} and {@link #writeFrom} can be called. */
  public static boolean hasArrayTransfers() {
    return GROUPS.arrayTransfers();
  }

  /**
   * Returns a descriptor of an existing file, for {@link #closeFile}; less than 0 if there is none,
   * or if the path as a text does not tell the bytes of its name.
   */
  public static int openFile(String path, boolean forWrites) {
    if (!isEncodable(path)) {
      return -1;
    }
    int flags = forWrites ? Descriptors.FLAGS.write() : Descriptors.FLAGS.read();
    try (Arena arena = Arena.ofConfined()) {
      long name = arena.allocateFrom(path).address();
      return (int) Descriptors.OPEN.invokeExact(name, flags, 0L, 0L);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /**
   * Java decodes the names of files by the encoding of the process's locale, and puts U+FFFD for
   * bytes that it has no character for. Outside of ASCII only UTF-8 is encoded here.
   */
  private static boolean isEncodable(String path) {
    return path.chars().allMatch(c -> c < 0x80) || (UTF_8_NAMES && path.indexOf('\uFFFD') < 0);
  }

  /** Ends a descriptor; whether the system had no objection. */
  public static boolean closeFile(int file) {
    try {
      return (int) Descriptors.CLOSE.invokeExact((long) file, 0, 0L, 0L) == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /**
   * Reads some bytes of a file into a segment, which may be of a Java array. Until this returns no
   * safepoint is reached: no garbage is collected, and other threads may come to wait.
   *
   * @return how many bytes, 0 at the file's end, less than 0 if the call failed
   */
  public static long readInto(MemorySegment segment, int file, long position) {
    try {
      return (long) ArrayTransfers.PREAD.invokeExact(file, segment, segment.byteSize(), position);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Writes some bytes of a segment to a file, as {@link #readInto} reads them. */
  public static long writeFrom(MemorySegment segment, int file, long position) {
    try {
      return (long) ArrayTransfers.PWRITE.invokeExact(file, segment, segment.byteSize(), position);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  public static boolean hasSetting() {
    return GROUPS.setting();
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
          SIZE_FIRST
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
    return map(bytes, PROT_NONE, Mapping.FLAGS.noReserve());
  }

  /**
   * Fresh explicit huge pages of zeros, aligned to their size. The platform must have them.
   *
   * @param bytes a multiple of the size
   * @param pageBytes their size, which the system has
   * @param setAside whether the pages are set aside at once; if not, only {@link Advice#POPULATE}
   *     tells whether there are enough
   */
  public static Mapped mapHuge(long bytes, long pageBytes, boolean setAside) {
    Platform.HugePages numbers = PLATFORM.hugePages().orElseThrow();
    int size = Long.numberOfTrailingZeros(pageBytes) << numbers.sizeShift();
    int reserve = setAside ? 0 : Mapping.FLAGS.noReserve();
    return map(bytes, PROT_READ_WRITE, numbers.flag() | size | reserve);
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
                  Mapping.FLAGS.privateAnonymous() | flags,
                  -1,
                  0L);
      return memory.address() == -1L
          ? new Mapped(0, (int) Mapping.STATE_ERRNO.get(state, 0L))
          : mapped(memory.address(), bytes);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static Mapped mapped(long address, long bytes) {
    try {
      return new Mapped(address, 0);
    } catch (OutOfMemoryError e) {
      unmap(address, bytes);
      throw e;
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
    /** Use huge pages. */
    HUGE,
    /** Use no huge pages. */
    SMALL,
    /**
     * Provide all pages now. Where there are none this fails, while an access would be a SIGBUS.
     */
    POPULATE
  }

  /** Gives advice; whether the kernel took it. A platform without huge pages takes none. */
  public static boolean advise(long address, long bytes, Advice advice) {
    if (HUGE_PAGES == null) {
      return false;
    }
    int code =
        switch (advice) {
          case HUGE -> HUGE_PAGES.use();
          case SMALL -> HUGE_PAGES.avoid();
          case POPULATE -> HUGE_PAGES.populate();
        };
    try {
      return (int) Mapping.MADVISE.invokeExact(MemorySegment.ofAddress(address), bytes, code) == 0;
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

  /** Returns whether mapped pages can be locked from their first touch on. */
  public static boolean hasLockingWhenTouched() {
    return GROUPS.mapping() && onFault().isPresent() && has("mlock2");
  }

  private static OptionalInt onFault() {
    return PLATFORM.locking().map(Platform.Locking::onFault).orElse(OptionalInt.empty());
  }

  /** Keeps pages in memory from their first touch on; whether the system allowed it. */
  public static boolean lockWhenTouched(long address, long bytes) {
    int flag = onFault().orElseThrow();
    try {
      return (int) LaterLocking.MLOCK2.invokeExact(MemorySegment.ofAddress(address), bytes, flag)
          == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Bytes of one page; empty if the system does not say. */
  public static OptionalLong pageSize() {
    if (!has("getpagesize")) {
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
    if (PLATFORM.locking().isEmpty() || !has("getrlimit")) {
      return OptionalLong.empty();
    }
    int limit = PLATFORM.locking().get().limit();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment limits = arena.allocate(LIMIT_BYTES, Long.BYTES);
      if ((int) Limits.GETRLIMIT.invokeExact(limit, limits) != 0) {
        return OptionalLong.empty();
      }
      // No limit is the largest unsigned number on Linux, and the largest signed one on macOS.
      long soft = limits.getAtIndex(JAVA_LONG, 0);
      return OptionalLong.of(soft < 0 ? Long.MAX_VALUE : soft);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns whether a descriptor leads to a terminal; false also where that is unknown. */
  public static boolean isTerminal(int descriptor) {
    if (!has("isatty")) {
      return false;
    }
    try {
      return (int) Terminal.ISATTY.invokeExact(descriptor) == 1;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns the user in whose name this process acts, an unsigned number; empty if not known. */
  public static OptionalInt user() {
    if (!has("geteuid")) {
      return OptionalInt.empty();
    }
    try {
      return OptionalInt.of((int) User.GETEUID.invokeExact());
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns whether this platform has a linker and this module may call native code. */
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

  public static RuntimeException unexpected(Throwable e) {
    if (e instanceof Error error) {
      throw error;
    }
    return e instanceof RuntimeException unchecked
        ? unchecked
        : new IllegalStateException("a native call threw", e);
  }
}
