package dev.tidepool.host;

import dev.tidepool.host.system.LibC;
import dev.tidepool.host.system.ProcFiles;
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
final class ReservedMapping {
  private ReservedMapping() {}

  /** Memory as the request has it, or of the next simpler pages; null if there is none. */
  static @Nullable MappedRegion of(HostRequest request) {
    long bytes = request.bytes();
    if (!LibC.hasMapping()) {
      return MappedRegion.allocate(
          PageSizes.roundUp(bytes, PageSizes.BYTES),
          Math.max(request.alignment(), PageSizes.BYTES));
    }
    PageKind kind = request.pagesOrDefault();
    if (kind == PageKind.EXPLICIT_HUGE) {
      for (long size : PageSizes.explicitSizes()) {
        MappedRegion memory =
            PageSizes.worthRoundingUp(bytes, size) ? explicit(request, size) : null;
        if (memory != null) {
          return memory;
        }
      }
    }
    long hugeBytes = kind == PageKind.SMALL ? 0 : PageSizes.HUGE_BYTES;
    boolean whole =
        hugeBytes > 0 && request.pages().isPresent() && PageSizes.worthRoundingUp(bytes, hugeBytes);
    long length = whole ? PageSizes.roundUp(bytes, hugeBytes) : bytes;
    boolean huge = hugeBytes > 0 && length >= hugeBytes;
    MappedRegion memory =
        anonymous(
            length,
            Math.max(request.alignment(), huge ? PageSizes.HUGE_BYTES : PageSizes.BYTES),
            huge ? PageKind.TRANSPARENT_HUGE : PageKind.SMALL);
    return memory == null ? null : placedOrFreed(memory, request.numa());
  }

  private static MappedRegion placedOrFreed(MappedRegion memory, NumaPolicy policy) {
    try {
      return placed(memory, policy);
    } catch (Throwable e) {
      // The heap may be full.
      memory.free();
      throw e;
    }
  }

  /**
   * Ordinary memory between inaccessible pages.
   *
   * @param alignment at least a page
   */
  static @Nullable MappedRegion anonymous(long bytes, long alignment, PageKind kind) {
    long length = PageSizes.roundUp(bytes, PageSizes.BYTES);
    long reserved = length + alignment + PageSizes.BYTES;
    LibC.Mapped map = LibC.reserve(reserved);
    if (map.address() == 0) {
      MappedRegion.checkRefusal(map, reserved);
      return null;
    }
    MappedRegion opened = null;
    try {
      opened = opened(map.address(), reserved, length, alignment, kind);
      return opened;
    } finally {
      if (opened == null) {
        MappedRegion.unmap(map.address(), reserved);
      }
    }
  }

  /** Opens a part of reserved addresses; null if the system has no memory for it. */
  private static @Nullable MappedRegion opened(
      long base, long reserved, long length, long alignment, PageKind kind) {
    long address = PageSizes.roundUp(base + PageSizes.BYTES, alignment);
    if (!LibC.open(address, length)) {
      return null;
    }
    boolean huge = kind == PageKind.TRANSPARENT_HUGE;
    boolean taken = LibC.advise(address, length, huge ? LibC.Advice.HUGE : LibC.Advice.SMALL);
    GrantedMemory plain = GrantedMemory.plain(length);
    return new MappedRegion(
        address,
        MappedRegion.Origin.MAPPING,
        base,
        reserved,
        huge && taken ? transparent(plain) : plain);
  }

  /**
   * Returns what memory is whose advice to use huge pages was taken: the system may still have them
   * off.
   */
  static GrantedMemory transparent(GrantedMemory plain) {
    return TransparentMode.OFF ? plain : plain.of(PageKind.TRANSPARENT_HUGE, PageSizes.HUGE_BYTES);
  }

  /** Whether no mapping of this process gets any; read once, because every large block asks. */
  private static final class TransparentMode {
    static final boolean OFF =
        PageSizes.transparentMode().orElse("never").equals("never")
            || ProcFiles.lines(Path.of("/proc/self/status")).contains("THP_enabled:\t0");
  }

  /** Huge pages that were set aside; null if too few of this size are left. */
  private static @Nullable MappedRegion explicit(HostRequest request, long pageBytes) {
    long length = PageSizes.roundUp(request.bytes(), pageBytes);
    // The system aligns to the page; for more, take more addresses and trim.
    boolean aligned = request.alignment() <= pageBytes;
    long mapped = aligned ? length : length + request.alignment();
    LibC.Mapped map = LibC.mapHuge(mapped, pageBytes, aligned);
    if (map.address() == 0) {
      return null;
    }
    long address = PageSizes.roundUp(map.address(), request.alignment());
    trim(map.address(), address);
    trim(address + length, map.address() + mapped);
    MappedRegion memory = null;
    try {
      MappedRegion pages =
          placed(
              new MappedRegion(
                  address,
                  MappedRegion.Origin.MAPPING,
                  address,
                  length,
                  GrantedMemory.plain(length).of(PageKind.EXPLICIT_HUGE, pageBytes)),
              request.numa());
      // The pages may be other nodes', or a control group's limit may be below them, and then the
      // first touch would kill the process. Kernels before 5.14 can't tell, and are not trusted.
      memory = LibC.advise(address, length, LibC.Advice.POPULATE) ? pages : null;
      return memory;
    } finally {
      if (memory == null) {
        MappedRegion.unmap(address, length);
      }
    }
  }

  private static void trim(long from, long to) {
    if (to > from) {
      MappedRegion.unmap(from, to - from);
    }
  }

  /** Gives untouched memory its policy, and reads back what the system made of it. */
  private static MappedRegion placed(MappedRegion memory, NumaPolicy policy) {
    if (policy.mode() == NumaPolicy.Mode.LOCAL
        || !NumaCalls.available()
        || !NumaCalls.bind(memory.address(), memory.backing().bytes(), policy)) {
      return memory;
    }
    return new MappedRegion(
        memory.address(),
        memory.origin(),
        memory.mapBase(),
        memory.mapBytes(),
        memory.backing().at(NumaCalls.policyAt(memory.address())));
  }
}
