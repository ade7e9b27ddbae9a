package dev.tidepool.host;

import dev.tidepool.AcceleratorException;
import dev.tidepool.host.system.LibC;
import org.jspecify.annotations.Nullable;

/**
 * A stretch of the system's memory and how it goes back. Addresses end here.
 *
 * @param address where it starts
 * @param origin which call it came from
 * @param mapBase where the mapping starts, which may be before the aligned address
 * @param mapBytes bytes of the mapping
 * @param backing what it is made of
 */
record MappedRegion(
    long address, Origin origin, long mapBase, long mapBytes, GrantedMemory backing) {
  /** Above this, pages are mapped for the block alone and go back to the system with it. */
  static final long MAPPED_FROM = 2L << 20;

  /**
   * From this size on, addresses of one huge page after the block stay unused. The system places
   * mappings next to each other. Blocks of 256 MiB would lie 256 MiB apart, and where a loop reads
   * one and writes the other at the same index, both may fall into one bank of the memory: such a
   * loop took 1.5 times as long.
   */
  private static final long STAGGERED_FROM = 32L << 20;

  /** Above this, the heap would take far more than the block to align it. */
  private static final long MAPPED_ALIGNMENT = 64L << 10;

  enum Origin {
    HEAP,
    MAPPING
  }

  /**
   * Memory from the C library's heap or from a mapping, as size and alignment ask; null if there is
   * none.
   */
  static @Nullable MappedRegion allocate(long bytes, long alignment) {
    if (LibC.hasMapping() && (bytes >= MAPPED_FROM || alignment > MAPPED_ALIGNMENT)) {
      return mapped(bytes, alignment);
    }
    // aligned_alloc wants at least a pointer's alignment, and a size that is a multiple of it.
    long aligned = Math.max(alignment, 16);
    GrantedMemory backing = GrantedMemory.plain(bytes);
    long address = LibC.alignedAllocate(PageSizes.roundUp(bytes, aligned), aligned);
    try {
      return address == 0 ? null : new MappedRegion(address, Origin.HEAP, 0, 0, backing);
    } catch (OutOfMemoryError e) {
      LibC.alignedFree(address);
      throw e;
    }
  }

  private static @Nullable MappedRegion mapped(long bytes, long alignment) {
    // A huge page only fits where the block starts at a multiple of its size.
    boolean huge = PageSizes.HUGE_BYTES > 0 && bytes >= PageSizes.HUGE_BYTES;
    long wanted = Math.max(alignment, huge ? PageSizes.HUGE_BYTES : PageSizes.BYTES);
    long length = PageSizes.roundUp(bytes, PageSizes.BYTES);
    long mapped = huge && bytes >= STAGGERED_FROM ? length + PageSizes.HUGE_BYTES : length;
    LibC.Mapped map = LibC.map(mapped);
    if (map.address() == 0) {
      checkRefusal(map, mapped);
      return null;
    }
    if (map.address() % wanted != 0) {
      unmap(map.address(), mapped);
      return ReservedMapping.anonymous(
          bytes, wanted, huge ? PageKind.TRANSPARENT_HUGE : PageKind.SMALL);
    }
    try {
      GrantedMemory backing = GrantedMemory.plain(length);
      if (huge && LibC.advise(map.address(), length, LibC.Advice.HUGE)) {
        backing = ReservedMapping.transparent(backing);
      }
      return new MappedRegion(map.address(), Origin.MAPPING, map.address(), mapped, backing);
    } catch (Throwable e) {
      // The heap may be full.
      unmap(map.address(), mapped);
      throw e;
    }
  }

  /** Throws unless a mapping was refused because there is no memory. */
  static void checkRefusal(LibC.Mapped refused, long bytes) {
    if (refused.errno() != LibC.ENOMEM) {
      throw new AcceleratorException(
          "mmap", refused.errno(), "errno", "asked for " + bytes + " bytes of anonymous memory");
    }
  }

  /** Locks its pages; null if the system does not allow it, or does not have them. */
  @Nullable MappedRegion locked() {
    // Explicit huge pages never leave memory, and locking them would only use up the limit.
    boolean stays =
        backing.pages() == PageKind.EXPLICIT_HUGE || LibC.lock(address, backing.bytes());
    return stays
        ? new MappedRegion(address, origin, mapBase, mapBytes, backing.withPagesLocked())
        : null;
  }

  /** Gives it back; nothing may use it any more. */
  void free() {
    switch (origin) {
      case HEAP -> {
        if (backing.locked()) {
          // A mapping is unlocked by its end; pages of the heap must not stay locked.
          LibC.unlock(address, backing.bytes());
        }
        LibC.alignedFree(address);
      }
      case MAPPING -> unmap(mapBase, mapBytes);
    }
  }

  static void unmap(long address, long bytes) {
    int errno = LibC.unmap(address, bytes);
    if (errno != 0) {
      throw new AcceleratorException(
          "munmap", errno, "errno", bytes + " bytes could not be given back to the system");
    }
  }
}
