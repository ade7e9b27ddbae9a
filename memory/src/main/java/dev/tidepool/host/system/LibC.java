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
 * The C library's functions for memory, with one method for each. Only {@code NumaCalls} and the
 * classes that map memory use addresses too.
 *
 * <p>A function that the system lacks, or that this process may not call, must not be called. So
 * call the {@code has} method of its group first, unless the function's method handles this case.
 * Linking a function takes milliseconds, so each group is a class that is initialised on first use.
 * A short-lived process links two or three functions.
 */
public final class LibC {
  /** The error number for lack of memory, on Linux and macOS. */
  public static final int ENOMEM = 12;

  static final int PROT_NONE = 0;
  static final int PROT_READ_WRITE = 3;

  /** The size of {@code struct rlimit}: the current limit, and the largest that may be set. */
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
   * Functions that take descriptors, all with one type, because the time to link depends on the
   * number of types. Linux passes their arguments in registers. A function reads only the registers
   * of its parameters, and only as many bits as each parameter has.
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

  /** Critical: during a call, the array does not move and the garbage collector waits. */
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

  /** Returns whether the NUMA calls of the platform have numbers and can be called. */
  public static boolean hasNumaCalls() {
    return GROUPS.numa();
  }

  /**
   * Allocates the disk blocks of a file's first bytes, if the system can. The length of the file
   * stays. Returns whether the blocks were allocated.
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
   * Returns a descriptor of an existing file, for {@link #closeFile}. Returns less than 0 if there
   * is no file, or if the bytes of its name cannot be determined from the path.
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
   * Returns whether the bytes of a path are known. Java decodes file names by the encoding of the
   * process's locale, and replaces bytes without a character by U+FFFD. Outside ASCII, only UTF-8
   * names can be encoded here.
   */
  private static boolean isEncodable(String path) {
    return path.chars().allMatch(c -> c < 0x80) || (UTF_8_NAMES && path.indexOf('\uFFFD') < 0);
  }

  /** Closes a descriptor. Returns whether the system reported no error. */
  public static boolean closeFile(int file) {
    try {
      return (int) Descriptors.CLOSE.invokeExact((long) file, 0, 0L, 0L) == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /**
   * Reads some bytes of a file into a segment, which may be on the heap. The thread reaches no
   * safepoint until this returns: no garbage is collected, and other threads may have to wait.
   *
   * @return the number of bytes, 0 at the end of the file, less than 0 if the call failed
   */
  public static long readInto(MemorySegment segment, int file, long position) {
    try {
      return (long) ArrayTransfers.PREAD.invokeExact(file, segment, segment.byteSize(), position);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Writes some bytes of a segment to a file. The counterpart of {@link #readInto}. */
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
   * Sets all bytes of {@linkplain OwnMemory own memory}, which the caller keeps alive. If the bytes
   * vanished, the process would end.
   */
  public static void set(MemorySegment memory, byte value) {
    try {
      var _ = (MemorySegment) Setting.MEMSET.invokeExact(memory, (int) value, memory.byteSize());
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Allocates {@code bytes}, a multiple of {@code alignment}. Returns 0 if there is no memory. */
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

  /** Maps fresh pages of zeros, private to this process. */
  public static Mapped map(long bytes) {
    return map(bytes, PROT_READ_WRITE, 0);
  }

  /** Reserves addresses that cost no memory and cannot be accessed yet; see {@link #open}. */
  public static Mapped reserve(long bytes) {
    return map(bytes, PROT_NONE, Mapping.FLAGS.noReserve());
  }

  /**
   * Maps fresh explicit huge pages of zeros, aligned to their size. The platform must have them.
   *
   * @param bytes a multiple of the page size
   * @param pageBytes the page size, which the system must have
   * @param setAside whether the pages are reserved at once; if not, only {@link Advice#POPULATE}
   *     shows whether there are enough
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

  /** Makes reserved pages accessible. Returns whether the system had memory for them. */
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

  /** Unmaps memory. Returns 0, or the error number. */
  public static int unmap(long address, long bytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(Mapping.STATE);
      int result = (int) Mapping.MUNMAP.invokeExact(state, MemorySegment.ofAddress(address), bytes);
      return result == 0 ? 0 : (int) Mapping.STATE_ERRNO.get(state, 0L);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Advice to the system about pages. */
  public enum Advice {
    /** Use huge pages. */
    HUGE,
    /** Use no huge pages. */
    SMALL,
    /** Provide all pages now. Fails if there are too few; a later access would be a SIGBUS. */
    POPULATE
  }

  /** Gives advice. Returns whether the kernel accepted it; false without huge pages. */
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

  /** Locks pages in memory. Returns whether the system allowed it. */
  public static boolean lock(long address, long bytes) {
    try {
      return (int) Locking.MLOCK.invokeExact(MemorySegment.ofAddress(address), bytes) == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Unlocks pages. Returns whether the system accepted it. */
  public static boolean unlock(long address, long bytes) {
    try {
      return (int) Locking.MUNLOCK.invokeExact(MemorySegment.ofAddress(address), bytes) == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns whether mapped pages can be locked when they are first touched. */
  public static boolean hasLockingWhenTouched() {
    return GROUPS.mapping() && onFault().isPresent() && has("mlock2");
  }

  private static OptionalInt onFault() {
    return PLATFORM.locking().map(Platform.Locking::onFault).orElse(OptionalInt.empty());
  }

  /** Locks pages in memory when they are first touched. Returns whether the system allowed it. */
  public static boolean lockWhenTouched(long address, long bytes) {
    int flag = onFault().orElseThrow();
    try {
      return (int) LaterLocking.MLOCK2.invokeExact(MemorySegment.ofAddress(address), bytes, flag)
          == 0;
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns the bytes of one page, or empty if not known. */
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

  /** Returns the bytes that this process may lock, MAX_VALUE for no limit, empty if unknown. */
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
      // No limit is the largest unsigned number on Linux, and the largest signed number on macOS.
      long soft = limits.getAtIndex(JAVA_LONG, 0);
      return OptionalLong.of(soft < 0 ? Long.MAX_VALUE : soft);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns whether a descriptor refers to a terminal. Returns false if this is not known. */
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

  /** Returns the effective user of this process, an unsigned number; empty if not known. */
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
      // The cheapest call that needs the permission, and that warns if it was not given.
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
