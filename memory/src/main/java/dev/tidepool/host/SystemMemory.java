package dev.tidepool.host;

import dev.tidepool.AcceleratorException;
import org.jspecify.annotations.Nullable;

/**
 * A stretch of the system's memory and how it goes back. Addresses end here.
 *
 * @param address where it starts
 * @param origin which call it came from
 * @param mapBase where the mapping starts, which may be before the aligned address
 * @param mapBytes bytes of the mapping
 */
record SystemMemory(long address, Origin origin, long mapBase, long mapBytes) {
  /** Above this, pages are mapped for the block alone and go back to the system with it. */
  static final long MAPPED_FROM = 2L << 20;

  enum Origin {
    HEAP,
    MAPPING
  }

  /**
   * Memory from the C library's heap or from a mapping, as the size asks; null if there is none.
   */
  static @Nullable SystemMemory allocate(long bytes, long alignment) {
    if (bytes >= MAPPED_FROM && CLibrary.hasMapping()) {
      return mapped(bytes, alignment);
    }
    // aligned_alloc wants at least a pointer's alignment, and a size that is a multiple of it.
    long aligned = Math.max(alignment, 16);
    long address = CLibrary.alignedAllocate(roundUp(bytes, aligned), aligned);
    return address == 0 ? null : new SystemMemory(address, Origin.HEAP, 0, 0);
  }

  /** Whole pages that are no other block's, as page locking wants them; null if there are none. */
  static @Nullable SystemMemory wholePages(long bytes, long alignment, long pageSize) {
    if (CLibrary.hasMapping()) {
      return mapped(bytes, Math.max(alignment, pageSize));
    }
    return allocate(roundUp(bytes, pageSize), Math.max(alignment, pageSize));
  }

  private static @Nullable SystemMemory mapped(long bytes, long alignment) {
    long page = Pages.BYTES;
    long length = roundUp(bytes, page);
    // A huge page only fits where the block starts at a multiple of its size.
    long huge = Pages.HUGE_BYTES;
    long wanted = huge > 0 && bytes >= huge ? Math.max(alignment, huge) : alignment;
    CLibrary.Mapped map = CLibrary.map(length);
    if (map.address() != 0 && map.address() % wanted != 0) {
      checkUnmapped(CLibrary.unmap(map.address(), length), length);
      length += wanted;
      map = CLibrary.map(length);
    }
    if (map.address() == 0) {
      if (map.errno() == CLibrary.ENOMEM) {
        return null;
      }
      throw new AcceleratorException(
          "mmap", map.errno(), "errno", "asked for " + length + " bytes of anonymous memory");
    }
    if (huge > 0 && bytes >= huge) {
      // Refused advice costs time and nothing else.
      CLibrary.adviseHugePages(map.address(), length);
    }
    return new SystemMemory(roundUp(map.address(), wanted), Origin.MAPPING, map.address(), length);
  }

  /** Gives it back; nothing may use it any more. */
  void free() {
    switch (origin) {
      case HEAP -> CLibrary.alignedFree(address);
      case MAPPING -> checkUnmapped(CLibrary.unmap(mapBase, mapBytes), mapBytes);
    }
  }

  static long roundUp(long bytes, long multiple) {
    return Math.addExact(bytes, multiple - 1) & -multiple;
  }

  private static void checkUnmapped(int errno, long bytes) {
    if (errno != 0) {
      throw new AcceleratorException(
          "munmap", errno, "errno", bytes + " bytes could not be given back to the system");
    }
  }
}
