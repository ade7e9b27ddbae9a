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
public record GrantedMemory(
    PageKind pages, long pageBytes, long bytes, NumaPolicy numa, boolean locked) {
  /** Small pages without anything special about them. */
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
