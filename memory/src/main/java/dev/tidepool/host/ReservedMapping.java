package dev.tidepool.host;

import dev.tidepool.host.system.LibC;
import dev.tidepool.host.system.ProcFiles;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A mapping of one block alone: for page locking, for requested huge pages or NUMA nodes, and for
 * alignments that the system does not provide by itself.
 *
 * <p>First, more addresses are reserved than needed. The block is opened within them, and the
 * addresses around it stay inaccessible. So the system cannot merge the block with a neighbour, and
 * its data about the mapping applies to the block alone. Pages get their policy before they are
 * touched.
 */
final class ReservedMapping {
  private ReservedMapping() {}

  /** Allocates memory as requested, or with simpler pages. Returns null if there is none. */
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
   * Allocates ordinary memory between inaccessible pages.
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

  /** Opens a part of reserved addresses. Returns null if the system has no memory for it. */
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
   * Returns the properties of memory for which the system accepted the advice to use huge pages.
   * They may still be switched off.
   */
  static GrantedMemory transparent(GrantedMemory plain) {
    return TransparentMode.OFF ? plain : plain.of(PageKind.TRANSPARENT_HUGE, PageSizes.HUGE_BYTES);
  }

  /** Whether this process gets no transparent huge pages. Read once: every large block needs it. */
  private static final class TransparentMode {
    static final boolean OFF =
        PageSizes.transparentMode().orElse("never").equals("never")
            || ProcFiles.lines(Path.of("/proc/self/status")).contains("THP_enabled:\t0");
  }

  /** Allocates explicit huge pages. Returns null if too few of this size are left. */
  private static @Nullable MappedRegion explicit(HostRequest request, long pageBytes) {
    long length = PageSizes.roundUp(request.bytes(), pageBytes);
    // The system aligns to the page size. For a larger alignment, map more and trim.
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
      // The pages may be on other nodes, or exceed a control group's limit. The first touch would
      // then kill the process. Kernels before 5.14 cannot check this, so their pages are not used.
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

  /** Sets the policy of untouched memory. Returns the region with the policy it really has. */
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
