package dev.tidepool.host;

import dev.tidepool.spi.Placement;
import java.util.Optional;

/**
 * A request for a block of a {@link MemoryAllocator}. Each option returns a copy.
 *
 * <p>A request with pages or a NUMA policy gives the block a mapping of its own, of whole pages,
 * with inaccessible pages around it. This takes some microseconds more, and the system's data about
 * the mapping applies to the block alone.
 *
 * @param bytes at least 0; a block may be empty
 * @param alignment of the first byte, a power of two up to {@link #LARGEST_ALIGNMENT}
 * @param pages the requested kind. If empty, blocks from the size of a transparent huge page on use
 *     such pages. If the system lacks a kind, the next simpler one is used. Requested huge pages
 *     are whole: for this the block takes up to 2 MiB more, or an eighth of its size. If that is
 *     not enough, it has smaller pages.
 * @param numa the source of the pages; any node if the system has no policies
 */
public record HostRequest(long bytes, long alignment, Optional<PageKind> pages, NumaPolicy numa) {
  /** The largest alignment, in bytes. */
  public static final long LARGEST_ALIGNMENT = 1L << 30;

  /**
   * Checks sizes and nodes.
   *
   * @throws IllegalArgumentException if bytes are negative, the alignment is not a power of two in
   *     range, or a node does not exist
   */
  public HostRequest {
    if (bytes < 0) {
      throw new IllegalArgumentException(
          "a block of " + bytes + " bytes was asked for; it has 0 or more");
    }
    if (alignment < 1 || alignment > LARGEST_ALIGNMENT || Long.bitCount(alignment) != 1) {
      throw new IllegalArgumentException(
          "an alignment of "
              + alignment
              + " bytes was asked for; it is a power of two from 1 to "
              + LARGEST_ALIGNMENT);
    }
    NumaNodes.check(numa);
  }

  /** Returns a request with the {@linkplain MemoryAllocator#defaultAlignment default alignment}. */
  public static HostRequest of(long bytes) {
    return new HostRequest(
        bytes, MemoryAllocator.defaultAlignment(bytes), Optional.empty(), NumaPolicy.LOCAL);
  }

  /** Returns a copy with another alignment, in bytes. */
  public HostRequest aligned(long alignment) {
    return new HostRequest(bytes, alignment, pages, numa);
  }

  /** Returns a copy that requests a kind of pages. */
  public HostRequest on(PageKind pages) {
    return new HostRequest(bytes, alignment, Optional.of(pages), numa);
  }

  /** Returns a copy that requests memory of certain nodes. */
  public HostRequest from(NumaPolicy numa) {
    return new HostRequest(bytes, alignment, pages, numa);
  }

  /** Returns a copy with the placement of a buffer: a preferred node, explicit huge pages. */
  public HostRequest placed(Placement placement) {
    return new HostRequest(
        bytes,
        alignment,
        placement.hugePages() ? Optional.of(PageKind.EXPLICIT_HUGE) : pages,
        placement.node().isPresent() ? NumaPolicy.preferred(placement.node().getAsInt()) : numa);
  }

  /** Returns the requested kind, or the default for the size. */
  PageKind pagesOrDefault() {
    boolean huge = PageSizes.HUGE_BYTES > 0 && bytes >= PageSizes.HUGE_BYTES;
    return pages.orElse(huge ? PageKind.TRANSPARENT_HUGE : PageKind.SMALL);
  }

  /** Returns whether the block needs a mapping of its own. */
  boolean needsOwnPages() {
    return pages.isPresent() || numa.mode() != NumaPolicy.Mode.LOCAL;
  }
}
