package dev.tidepool.testkit.kernels;

import java.util.List;

/** Writes the statements of a kernel that store to {@link StoredArray}s. */
final class StoredArrayWriter {
  /** Methods that kernels call. */
  static final String HELPERS =
      """

        private static void put(int at, byte[] array, byte value) {
          array[at] = value;
        }

        private static void put(int at, int[] array, int value) {
          array[at] = value;
        }

        private static void put(int at, float[] array, float value) {
          array[at] = value;
        }

        private static void putEven(int at, byte[] array, byte value) {
          at &= ~1;
          array[at] = value;
        }

        private static void putEven(int at, int[] array, int value) {
          at &= ~1;
          array[at] = value;
        }

        private static void putEven(int at, float[] array, float value) {
          at &= ~1;
          array[at] = value;
        }
      """;

  private final Decisions decisions;
  private final ItemIndex index;
  private final List<StoredArray> all;
  private final BodyWriter body;

  StoredArrayWriter(Decisions decisions, ItemIndex index, List<StoredArray> all, BodyWriter body) {
    this.decisions = decisions;
    this.index = index;
    this.all = all;
    this.body = body;
  }

  /** Writes the stores to an array. */
  void write(StoredArray array) {
    boolean leavesOut = decisions.leavesOut();
    List<String> lines = lines(array);
    if (!leavesOut) {
      lines.forEach(body::line);
    }
  }

  private List<String> lines(StoredArray array) {
    String counter = "n" + array.name();
    return switch (array.way()) {
      case ALWAYS -> List.of(store(array));
      case BRANCHES ->
          List.of("if (" + condition() + ") {", store(array), "} else {", store(array), "}");
      case ROUNDS ->
          List.of(
              "int " + counter + " = 0;",
              "do {",
              store(array),
              "if (" + condition() + ") {",
              decisions.chance(50) ? "continue;" : "break;",
              "}",
              "} while (" + counter + "++ < 1);");
      case FOREVER ->
          List.of(
              "int " + counter + " = 0;",
              "while (true) {",
              store(array),
              "if (" + condition() + " | " + counter + "++ > 1) {",
              "break;",
              "}",
              "}");
      case HELPER -> List.of("put(" + own() + ", " + array.name() + ", " + value(array) + ");");
      case GUARD -> guarded(array);
      case GUARD_WITH_RETURN ->
          List.of("if (" + outside(array) + ") {", "return;", "}", store(array));
      case CASES -> cases(array);
      case CONDITION -> List.of("if (" + condition() + ") {", store(array), "}");
      case RETURN -> List.of("if (" + condition() + ") {", "return;", "}", store(array));
      case LABEL ->
          List.of(
              "block" + array.name() + ": {",
              "if (" + condition() + ") {",
              "break block" + array.name() + ";",
              "}",
              store(array),
              "}");
      case LOOP ->
          List.of(
              "for (int %1$s = 0; %1$s < (%2$s & 1); %1$s++) {"
                  .formatted(counter, expression(Kind.INT)),
              store(array),
              "}");
      case OTHER_GUARD -> List.of("if (" + otherGuard(array) + ") {", store(array), "}");
      case OTHER_INDEX -> atOtherIndex(array);
      case LOADED -> loaded(array);
      case ELSEWHERE -> List.of();
    };
  }

  private List<String> guarded(StoredArray array) {
    return decisions.chance(50)
        ? List.of("if (" + inside(array) + ") {", store(array), "}")
        : List.of("if (" + outside(array) + ") {", "} else {", store(array), "}");
  }

  private String inside(StoredArray array) {
    return decisions.chance(50)
        ? ownNumber() + " < " + array.name() + ".length"
        : array.name() + ".length > " + ownNumber();
  }

  private String outside(StoredArray array) {
    return decisions.chance(50)
        ? ownNumber() + " >= " + array.name() + ".length"
        : array.name() + ".length <= " + ownNumber();
  }

  /** Returns a condition that resembles a test whether the item is within the array. */
  private String otherGuard(StoredArray array) {
    String length = array.name() + ".length";
    return switch (decisions.next(4)) {
      case 0 -> inside(decisions.pick(all)) + " && " + ownNumber() + " < " + length;
      case 1 -> ownNumber() + " < " + length + " - 3";
      case 2 -> ownNumber() + " + 2 < " + length;
      default -> ownNumber() + " < " + length + " && " + condition();
    };
  }

  private List<String> cases(StoredArray array) {
    boolean hasDefault = decisions.chance(50);
    boolean breaks = decisions.chance(50);
    return List.of(
        "switch (" + expression(Kind.INT) + " & 3) {",
        "case 0:",
        store(array),
        breaks ? "break;" : "",
        "case 2, 3:",
        store(array),
        "break;",
        hasDefault ? "default:" : "case 7:",
        store(array),
        "}");
  }

  /** Stores the same value in all items, because several may store to one element. */
  private List<String> atOtherIndex(StoredArray array) {
    String kind = array.kind().keyword();
    String value =
        "(" + kind + ") " + decisions.pick(List.of("pi", "pi", "7", "SEVEN", "READ_INT"));
    String at = array.otherIndex();
    String j = "j" + array.name();
    return switch (decisions.next(4)) {
      case 0 ->
          List.of("int " + j + " = " + at + ";", array.name() + "[" + j + "] = " + value + ";");
      case 1 -> List.of("putEven(" + at + ", " + array.name() + ", " + value + ");");
      case 2 ->
          List.of(
              "int " + j + " = " + at + ";",
              "if (" + condition() + ") {",
              j + " /= 2;",
              "}",
              array.name() + "[" + j + "] = " + value + ";");
      default -> List.of(array.name() + "[" + at + "] = " + value + ";");
    };
  }

  private List<String> loaded(StoredArray array) {
    if (array.kind() == Kind.INT && index.hasItem() && decisions.chance(40)) {
      String atomic = decisions.pick(List.of("atomicAdd", "atomicMin", "atomicMax"));
      return List.of("item." + atomic + "(oi, " + own() + ", " + expression(Kind.INT) + ");");
    }
    String element = array.name() + "[" + own() + "]";
    return List.of(
        element + " = " + condition() + " ? " + element + " : " + expression(array.kind()) + ";");
  }

  private String store(StoredArray array) {
    return array.name() + "[" + own() + "] = " + value(array) + ";";
  }

  private String own() {
    return decisions.pick(index.own());
  }

  /** Returns the item's index as an int or a long. */
  private String ownNumber() {
    return index.numbers().isEmpty() || decisions.chance(60)
        ? own()
        : decisions.pick(index.numbers());
  }

  /** Returns a value. If the array has another name, the item loads its element by that. */
  private String value(StoredArray array) {
    Kind kind = array.kind();
    String value = expression(kind);
    return array.isShared()
        ? "(%s) (w%s[i] + %s)".formatted(kind.keyword(), kind.letter(), value)
        : value;
  }

  private String expression(Kind kind) {
    return body.expressions().of(kind, decisions.between(1, 2));
  }

  /** Returns a condition that often is true for some of the items only. */
  private String condition() {
    return decisions.chance(50)
        ? expression(Kind.BOOLEAN)
        : decisions.pick(List.of("i > 17", "(i & 3) == 1", "i != 5", "i < 20", "pi < 0"));
  }
}
