package dev.tidepool.host;

import dev.tidepool.AcceleratorException;
import dev.tidepool.host.system.LibC;
import org.jspecify.annotations.Nullable;

/**
 * A range of memory from the system, and how to return it.
 *
 * @param address the start
 * @param origin the call that allocated it
 * @param mapBase the start of the mapping, which may be before the aligned address
 * @param mapBytes bytes of the mapping
 * @param backing the properties of the memory
 */
record MappedRegion(
    long address, Origin origin, long mapBase, long mapBytes, GrantedMemory backing) {
  /** From this size on, pages are mapped for the block alone and returned to the system with it. */
  static final long MAPPED_FROM = 2L << 20;

  /**
   * From this size on, the addresses of one huge page after the block stay unused. The system
   * places mappings next to each other. Blocks of 256 MiB would be 256 MiB apart. If a loop reads
   * one and writes the other at the same index, both may be in the same bank of the memory. Such a
   * loop took 1.5 times as long.
   */
  private static final long STAGGERED_FROM = 32L << 20;

  /** Above this alignment, the heap would use far more memory than the block. */
  private static final long MAPPED_ALIGNMENT = 64L << 10;

  enum Origin {
    HEAP,
    MAPPING
  }

  /**
   * Allocates memory from the C library's heap or from a mapping, depending on size and alignment.
   * Returns null if there is none.
   */
  static @Nullable MappedRegion allocate(long bytes, long alignment) {
    if (LibC.hasMapping() && (bytes >= MAPPED_FROM || alignment > MAPPED_ALIGNMENT)) {
      return mapped(bytes, alignment);
    }
    // aligned_alloc requires at least a pointer's alignment, and a size that is a multiple of it.
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
    // A huge page fits only if the block starts at a multiple of its size.
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

  /** Throws an exception unless a mapping was refused for lack of memory. */
  static void checkRefusal(LibC.Mapped refused, long bytes) {
    if (refused.errno() != LibC.ENOMEM) {
      throw new AcceleratorException(
          "mmap", refused.errno(), "errno", "asked for " + bytes + " bytes of anonymous memory");
    }
  }

  /** Locks the pages. Returns null if the system does not allow this or has no memory for them. */
  @Nullable MappedRegion locked() {
    // Explicit huge pages always stay in memory. Locking them would only use up the limit.
    boolean stays =
        backing.pages() == PageKind.EXPLICIT_HUGE || LibC.lock(address, backing.bytes());
    return stays
        ? new MappedRegion(address, origin, mapBase, mapBytes, backing.withPagesLocked())
        : null;
  }

  /** Returns the memory to the system. No code may use it afterwards. */
  void free() {
    switch (origin) {
      case HEAP -> {
        if (backing.locked()) {
          // Unmapping unlocks a mapping, but pages of the heap must not stay locked.
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
