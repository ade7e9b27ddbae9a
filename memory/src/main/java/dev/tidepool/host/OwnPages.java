package dev.tidepool.host;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Pages that are one block's alone: for page locking, for the huge pages or the NUMA nodes that a
 * request names, and for alignments that the system does not give by itself.
 *
 * <p>Addresses are reserved first, more than are needed; the block is opened inside of them, and
 * what is left around it stays inaccessible. So the system cannot merge the block with a neighbour,
 * and what it tells of the mapping is true of the block. Pages get their policy before they are
 * touched.
 */
final class OwnPages {
  private OwnPages() {}

  /** Memory as the request has it, or of the next simpler pages; null if there is none. */
  static @Nullable SystemMemory of(HostRequest request) {
    long bytes = request.bytes();
    if (!CLibrary.hasMapping()) {
      return SystemMemory.allocate(
          SystemMemory.roundUp(bytes, Pages.BYTES), Math.max(request.alignment(), Pages.BYTES));
    }
    PageKind kind = request.pagesOrDefault();
    if (kind == PageKind.EXPLICIT_HUGE) {
      for (long size : Pages.explicitSizes()) {
        SystemMemory memory = Pages.worthRoundingUp(bytes, size) ? explicit(request, size) : null;
        if (memory != null) {
          return memory;
        }
      }
    }
    long hugeBytes = kind == PageKind.SMALL ? 0 : Pages.HUGE_BYTES;
    boolean whole =
        hugeBytes > 0 && request.pages().isPresent() && Pages.worthRoundingUp(bytes, hugeBytes);
    long length = whole ? SystemMemory.roundUp(bytes, hugeBytes) : bytes;
    boolean huge = hugeBytes > 0 && length >= hugeBytes;
    SystemMemory memory =
        anonymous(
            length,
            Math.max(request.alignment(), huge ? Pages.HUGE_BYTES : Pages.BYTES),
            huge ? PageKind.TRANSPARENT_HUGE : PageKind.SMALL);
    return memory == null ? null : placed(memory, request.numa());
  }

  /**
   * Ordinary memory between inaccessible pages.
   *
   * @param alignment at least a page
   */
  static @Nullable SystemMemory anonymous(long bytes, long alignment, PageKind kind) {
    long length = SystemMemory.roundUp(bytes, Pages.BYTES);
    long reserved = length + alignment + Pages.BYTES;
    CLibrary.Mapped map = CLibrary.reserve(reserved);
    if (map.address() == 0) {
      SystemMemory.checkRefusal(map, reserved);
      return null;
    }
    long address = SystemMemory.roundUp(map.address() + Pages.BYTES, alignment);
    if (!CLibrary.open(address, length)) {
      SystemMemory.unmap(map.address(), reserved);
      return null;
    }
    boolean huge = kind == PageKind.TRANSPARENT_HUGE;
    boolean taken =
        CLibrary.advise(address, length, huge ? CLibrary.Advice.HUGE : CLibrary.Advice.SMALL);
    Backing plain = Backing.plain(length);
    return new SystemMemory(
        address,
        SystemMemory.Origin.MAPPING,
        map.address(),
        reserved,
        huge && taken ? transparent(plain) : plain);
  }

  /**
   * What memory is whose advice to use huge pages was taken: the system may still have them off.
   */
  static Backing transparent(Backing plain) {
    return TransparentMode.OFF ? plain : plain.of(PageKind.TRANSPARENT_HUGE, Pages.HUGE_BYTES);
  }

  /** Whether no mapping of this process gets any; read once, because every large block asks. */
  private static final class TransparentMode {
    static final boolean OFF =
        Pages.transparentMode().orElse("never").equals("never")
            || SystemFiles.lines(Path.of("/proc/self/status")).contains("THP_enabled:\t0");
  }

  /** Huge pages that were set aside; null if too few of this size are left. */
  private static @Nullable SystemMemory explicit(HostRequest request, long pageBytes) {
    long length = SystemMemory.roundUp(request.bytes(), pageBytes);
    // The system aligns to the page; for more, take more addresses and trim.
    boolean aligned = request.alignment() <= pageBytes;
    long mapped = aligned ? length : length + request.alignment();
    CLibrary.Mapped map = CLibrary.mapHuge(mapped, pageBytes, aligned);
    if (map.address() == 0) {
      return null;
    }
    long address = SystemMemory.roundUp(map.address(), request.alignment());
    trim(map.address(), address);
    trim(address + length, map.address() + mapped);
    SystemMemory memory =
        placed(
            new SystemMemory(
                address,
                SystemMemory.Origin.MAPPING,
                address,
                length,
                Backing.plain(length).of(PageKind.EXPLICIT_HUGE, pageBytes)),
            request.numa());
    // The pages may be other nodes', or a control group's limit may be below them, and then the
    // first touch would kill the process. Kernels before 5.14 can't tell, and are not trusted.
    if (CLibrary.advise(address, length, CLibrary.Advice.POPULATE)) {
      return memory;
    }
    memory.free();
    return null;
  }

  private static void trim(long from, long to) {
    if (to > from) {
      SystemMemory.unmap(from, to - from);
    }
  }

  /** Gives untouched memory its policy, and reads back what the system made of it. */
  private static SystemMemory placed(SystemMemory memory, NumaPolicy policy) {
    if (policy.mode() == NumaPolicy.Mode.LOCAL
        || !NumaCalls.available()
        || !NumaCalls.bind(memory.address(), memory.backing().bytes(), policy)) {
      return memory;
    }
    return new SystemMemory(
        memory.address(),
        memory.origin(),
        memory.mapBase(),
        memory.mapBytes(),
        memory.backing().at(NumaCalls.policyAt(memory.address())));
  }
}
