package dev.tidepool.testkit.kernels;

import java.util.List;

/**
 * An array argument that most kernels store to and never load. If all items store to their own
 * element, the library does not bring the array to the device; else it must keep the contents of
 * the elements without a store.
 *
 * @param kind the type of the elements
 * @param length the number of elements, which may differ from the number of items
 * @param way how the kernel stores
 * @param otherIndex the index for {@link Way#OTHER_INDEX}; else empty
 * @param isShared whether the kernel receives the same array for {@code w} of this type
 */
record StoredArray(Kind kind, int length, Way way, String otherIndex, boolean isShared) {
  /** The types of these arrays. */
  static final List<Kind> KINDS = List.of(Kind.BYTE, Kind.INT, Kind.FLOAT);

  /** How a kernel stores to the array. */
  enum Way {
    // All items store, or all items within the array.
    ALWAYS,
    BRANCHES,
    ROUNDS,
    FOREVER,
    HELPER,
    GUARD,
    GUARD_WITH_RETURN,
    // Some items may not store.
    CASES,
    CONDITION,
    RETURN,
    LABEL,
    LOOP,
    OTHER_GUARD,
    OTHER_INDEX,
    // All items store, but some also load.
    LOADED,
    // Only where other statements store.
    ELSEWHERE;

    boolean isGuard() {
      return this == GUARD || this == GUARD_WITH_RETURN;
    }
  }

  /** Returns a random array. */
  static StoredArray of(Decisions decisions, Kind kind, ItemIndex index, boolean mayBeShared) {
    Way way = decisions.pick(List.of(Way.values()));
    String otherIndex = way == Way.OTHER_INDEX ? otherIndex(decisions, index) : "";
    int length = length(decisions, way, otherIndex.equals("x") ? index.range().size(0) : 0);
    // Where the arrays are slices, the two lengths differ, which only OTHER_GUARD sees.
    boolean isShared =
        mayBeShared
            && length >= KernelData.ITEMS
            && way != Way.OTHER_GUARD
            && way != Way.OTHER_INDEX
            && decisions.chance(50);
    return new StoredArray(kind, length, way, otherIndex, isShared);
  }

  private static int length(Decisions decisions, Way way, int row) {
    int items = KernelData.ITEMS;
    int choice = decisions.next(100);
    if (way.isGuard() && choice < 50) {
      return choice < 25 ? items - 7 : items + 9;
    }
    if (row > 0 && choice < 30) {
      return row;
    }
    if (choice < 1 && way != Way.OTHER_INDEX) {
      return items - 1; // Without a guard, the last item's index is outside.
    }
    return choice < 15 ? items + 9 : items;
  }

  /** Returns an index that is not known to be the item's own, below the number of items. */
  private static String otherIndex(Decisions decisions, ItemIndex index) {
    if (!index.coordinates().isEmpty() && decisions.chance(40)) {
      return decisions.pick(index.coordinates());
    }
    if (index.hasItem() && decisions.chance(75)) {
      String number = decisions.pick(List.of("globalId", "localId", "groupId"));
      return "(int) item." + number + "(" + decisions.pick(List.of(0, 0, 1, 2)) + ")";
    }
    String own = decisions.pick(index.own());
    return decisions
        .pick(
            List.of(
                "OWN & 30",
                "OWN / 2 * 2",
                "OWN % 7",
                "Math.max(OWN, 3)",
                "OWN > 5 ? OWN : 0",
                "(byte) (OWN) / 3",
                "0"))
        .replace("OWN", own);
  }

  /** Returns the name of the parameter. */
  String name() {
    return "o" + kind.letter();
  }

  /** Returns whether any statement may store to {@code i}, and no other item stores there. */
  boolean isOwn() {
    return way != Way.OTHER_INDEX && length >= KernelData.ITEMS;
  }
}
