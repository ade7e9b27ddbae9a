package dev.tidepool.host;

/**
 * What a block really got, as the system agreed when the block was made. How much of it lies in
 * memory now, and where, is {@link HostBlock#residence()}.
 *
 * @param pages the kind of its pages
 * @param pageBytes bytes of one such page
 * @param bytes what the block occupies: whole pages, where it has pages of its own
 * @param numa the policy that the system keeps for its addresses; {@link NumaPolicy#LOCAL} if none
 *     was asked for or the system has none
 * @param locked whether its pages stay in memory
 */
public record Backing(PageKind pages, long pageBytes, long bytes, NumaPolicy numa, boolean locked) {
  /** Small pages without anything special about them. */
  static Backing plain(long bytes) {
    return new Backing(PageKind.SMALL, Pages.BYTES, bytes, NumaPolicy.LOCAL, false);
  }

  Backing of(PageKind pages, long pageBytes) {
    return new Backing(pages, pageBytes, bytes, numa, locked);
  }

  Backing at(NumaPolicy numa) {
    return new Backing(pages, pageBytes, bytes, numa, locked);
  }

  Backing withPagesLocked() {
    return new Backing(pages, pageBytes, bytes, numa, true);
  }
}
