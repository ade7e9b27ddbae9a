package dev.tidepool.host;

/**
 * The properties that a block really has, as the system granted them at its allocation. {@link
 * HostBlock#residence()} tells how much of it is in memory now, and where.
 *
 * @param pages the kind of its pages
 * @param pageBytes bytes of one such page
 * @param bytes the occupied bytes: whole pages if the block has pages of its own
 * @param numa the policy of its addresses; {@link NumaPolicy#LOCAL} if none was requested or the
 *     system has none
 * @param locked whether its pages stay in memory
 */
public record GrantedMemory(
    PageKind pages, long pageBytes, long bytes, NumaPolicy numa, boolean locked) {
  /** Returns ordinary small pages. */
  static GrantedMemory plain(long bytes) {
    return new GrantedMemory(PageKind.SMALL, PageSizes.BYTES, bytes, NumaPolicy.LOCAL, false);
  }

  GrantedMemory of(PageKind pages, long pageBytes) {
    return new GrantedMemory(pages, pageBytes, bytes, numa, locked);
  }

  GrantedMemory at(NumaPolicy numa) {
    return new GrantedMemory(pages, pageBytes, bytes, numa, locked);
  }

  GrantedMemory withPagesLocked() {
    return new GrantedMemory(pages, pageBytes, bytes, numa, true);
  }
}
