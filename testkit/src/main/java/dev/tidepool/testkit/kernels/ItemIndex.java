package dev.tidepool.testkit.kernels;

import java.util.List;

/**
 * The first parameter of a random kernel, and what the kernel computes from it.
 *
 * @param parameter the declaration of the parameter
 * @param argument the argument for an item {@code item}
 * @param lines the declaration of {@code i}, which numbers the items, and of coordinates
 * @param coordinates the int variables with the item's index in one dimension
 * @param own the ints that are the item's index in a range of one dimension
 * @param numbers longs that are the item's index in a range of one dimension
 * @param range the items of a launch
 */
record ItemIndex(
    String parameter,
    String argument,
    List<String> lines,
    List<String> coordinates,
    List<String> own,
    List<String> numbers,
    KernelRange range) {
  private static final List<String> LETTERS = List.of("x", "y", "z");

  /**
   * Returns a random first parameter and range.
   *
   * @param ofNeighbors determines the group size, if any. Kernels of one program share it, because
   *     PoCL compiles a program again for each
   */
  static ItemIndex of(Decisions decisions, Decisions ofNeighbors, int items) {
    return switch (decisions.next(10)) {
      case 0, 1, 2 ->
          new ItemIndex(
              "int i",
              "(int) item.globalId(0)",
              List.of(),
              List.of(),
              List.of("i"),
              List.of(),
              KernelRange.line(items));
      case 3, 4 ->
          new ItemIndex(
              "long item",
              "item.globalId(0)",
              List.of("int i = (int) item;"),
              List.of(),
              List.of("i", "(int) item"),
              List.of("item"),
              KernelRange.line(items));
      default -> ofItem(decisions, range(decisions, ofNeighbors, items));
    };
  }

  private static KernelRange range(Decisions decisions, Decisions ofNeighbors, int items) {
    int groupItems = ofNeighbors.pick(List.of(2, 4, 6, 12, items));
    long[] group = KernelRange.factors(ofNeighbors, groupItems, ofNeighbors.between(1, 3));
    return ofNeighbors.chance(60)
        ? KernelRange.of(decisions, decisions.between(1, 3), items, 1).ungrouped()
        : KernelRange.of(decisions, items / groupItems, group);
  }

  private static ItemIndex ofItem(Decisions decisions, KernelRange range) {
    String parameter = "dev.tidepool.WorkItem item";
    String x = "(int) item.globalId(0)";
    if (range.dimensions() == 1) {
      List<String> lines = List.of("int i = " + x + ";");
      List<String> numbers = List.of("item.globalId(0)");
      return new ItemIndex(parameter, "item", lines, List.of(), List.of("i", x), numbers, range);
    }
    List<String> coordinates = LETTERS.subList(0, range.dimensions());
    StringBuilder declared = new StringBuilder("int ");
    for (int i = 0; i < range.dimensions(); i++) {
      declared.append(LETTERS.get(i)).append(" = (int) item.globalId(").append(i);
      declared.append(i < range.dimensions() - 1 ? "), " : ");");
    }
    // Either the first dimension is counted first, or the last.
    boolean isFirst = decisions.chance(50);
    List<Integer> order =
        range.dimensions() == 2
            ? (isFirst ? List.of(1, 0) : List.of(0, 1))
            : (isFirst ? List.of(2, 1, 0) : List.of(0, 1, 2));
    String index = LETTERS.get(order.getFirst());
    for (int dimension : order.subList(1, order.size())) {
      String size =
          decisions.chance(50)
              ? String.valueOf(range.size(dimension))
              : "(int) item.globalSize(" + dimension + ")";
      index = "(" + index + ") * " + size + " + " + LETTERS.get(dimension);
    }
    List<String> lines = List.of(declared.toString(), "int i = " + index + ";");
    return new ItemIndex(parameter, "item", lines, coordinates, List.of("i"), List.of(), range);
  }

  /** Returns whether the kernel has a work item. */
  boolean hasItem() {
    return argument.equals("item");
  }
}
