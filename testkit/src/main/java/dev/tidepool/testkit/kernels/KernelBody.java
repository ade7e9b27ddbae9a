package dev.tidepool.testkit.kernels;

import dev.tidepool.Arguments;
import dev.tidepool.Kernel;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.kernels.Scope.Helper;
import dev.tidepool.testkit.kernels.Scope.OwnArray;
import dev.tidepool.testkit.kernels.Scope.Variable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * A random kernel method with the methods that it calls.
 *
 * @param seed determines the methods
 * @param kinds the types that the methods use
 * @param source the Java declarations of the methods
 * @param parts the number of parts that can be omitted
 * @param stride the number of elements of each written array that belong to an item
 * @param index the first parameter, and the items of a launch
 * @param stored the arrays in front of the others
 * @param passing how the arrays are passed
 */
record KernelBody(
    long seed,
    Kinds kinds,
    String source,
    int parts,
    int stride,
    ItemIndex index,
    List<StoredArray> stored,
    Passing passing) {
  /** About how many kernels are in one program. */
  private static final int NEIGHBORS = 50;

  /** The scalar parameters of a kernel without doubles; the index is {@code i} or {@code item}. */
  private static final String SCALARS = "byte pb, short ps, int pi, long pl, float pf, boolean pz";

  private static final String WITH_DOUBLE =
      "byte pb, short ps, int pi, long pl, float pf, double pd, boolean pz";

  /** Returns the kernel of a seed without some of its parts. */
  static KernelBody of(long seed, Set<Integer> leftOut, Kinds kinds) {
    Decisions decisions = new Decisions(seed, leftOut, kinds);
    int stride = 1 << decisions.next(3);
    StringBuilder source = new StringBuilder();
    List<Helper> helpers = new ArrayList<>();
    int count = decisions.next(3);
    for (int i = 0; i < count; i++) {
      Helper helper = helper(decisions, method(seed) + "h" + i, helpers, source);
      helpers.add(helper);
    }
    Decisions ofNeighbors = new Decisions(seed / NEIGHBORS, Set.of(), kinds);
    ItemIndex index = ItemIndex.of(decisions, ofNeighbors, KernelData.ITEMS);
    List<StoredArray> stored = new ArrayList<>();
    for (Kind kind : StoredArray.KINDS) {
      stored.add(StoredArray.of(decisions, kind, index, stride == 1));
    }
    Scope scope = scope(kinds, stride, index, stored);
    BodyWriter body =
        new BodyWriter(decisions, scope, helpers, "v", "void", decisions.between(3, 12));
    index.lines().forEach(body::line);
    statements(decisions, index, stored, body);
    showVariables(scope, body);
    source.append("\n  static void ").append(method(seed)).append("(");
    source
        .append(index.parameter())
        .append(", ")
        .append(parameters(kinds))
        .append(") {\n")
        .append(body.text())
        .append("  }\n");
    return new KernelBody(
        seed,
        kinds,
        source.toString(),
        decisions.parts(),
        stride,
        index,
        List.copyOf(stored),
        Passing.of(decisions, stored.stream().anyMatch(StoredArray::isShared)));
  }

  private static Scope scope(Kinds kinds, int stride, ItemIndex index, List<StoredArray> stored) {
    Scope scope = new Scope(true, stride);
    scope.add(new Variable("i", Kind.INT, false));
    for (String coordinate : index.coordinates()) {
      scope.add(new Variable(coordinate, Kind.INT, false));
    }
    if (index.hasItem()) {
      scope.addItem();
    }
    for (Kind kind : kinds.elements()) {
      scope.add(new Variable("p" + kind.letter(), kind, kind != Kind.INT));
    }
    stored.stream().filter(StoredArray::isOwn).forEach(scope::addStored);
    return scope;
  }

  /** Writes the statements, with the stores to each array in front of one of them. */
  private static void statements(
      Decisions decisions, ItemIndex index, List<StoredArray> stored, BodyWriter body) {
    StoredArrayWriter writer = new StoredArrayWriter(decisions, index, stored, body);
    List<StoredArray> left = new ArrayList<>(stored);
    left.removeIf(
        array -> {
          boolean isFirst = decisions.chance(40);
          if (isFirst) {
            writer.write(array);
          }
          return isFirst;
        });
    while (body.hasMore()) {
      body.statement();
      if (!left.isEmpty() && decisions.chance(30)) {
        writer.write(left.removeLast());
      }
    }
    left.forEach(writer::write);
  }

  /** Returns the parameters after the index. */
  static String parameters(Kinds kinds) {
    StringBuilder parameters = new StringBuilder(kinds.doubles() ? WITH_DOUBLE : SCALARS);
    // In front of the others: an array that is passed twice is first brought for the first of two.
    for (Kind kind : StoredArray.KINDS) {
      parameters.append(", ").append(kind.keyword()).append("[] o").append(kind.letter());
    }
    for (String prefix : List.of("r", "w")) {
      for (Kind kind : kinds.elements()) {
        parameters.append(", ").append(kind.keyword()).append("[] ");
        parameters.append(prefix).append(kind.letter());
      }
    }
    return parameters.toString();
  }

  /** Returns the names of the parameters after the index. */
  static List<String> names(Kinds kinds) {
    return List.of(parameters(kinds).replaceAll("[a-z]+(\\[\\])? (\\w+)", "$2").split(", "));
  }

  /** Returns how many elements the array of a parameter has. */
  int arrayLength(StoredArray array) {
    return array.length() + (array.isShared() ? passing.elementsBehind() : 0);
  }

  /**
   * Runs a kernel with arguments, and copies results to their arrays.
   *
   * @param first further arguments in front of the others
   */
  void execute(Kernel kernel, UnifiedMemoryManager memory, List<Object> first, Object[] arguments) {
    passing.launch(
        memory,
        arguments,
        kinds.elements().size(),
        stored.stream().map(StoredArray::length).toList(),
        passed -> {
          List<Object> all = new ArrayList<>(first);
          all.addAll(List.of(passed));
          kernel.execute(Arguments.inOrder(all.toArray()), index.range().launch());
        });
  }

  /** Returns the name of the method. */
  String method() {
    return method(seed);
  }

  private static String method(long seed) {
    return "body" + Long.toUnsignedString(seed);
  }

  private static Helper helper(
      Decisions decisions, String name, List<Helper> helpers, StringBuilder source) {
    List<String> results = new ArrayList<>(List.of("void"));
    for (Kind kind : decisions.kinds().all()) {
      results.add(kind.keyword());
    }
    String result = decisions.pick(results);
    Scope scope = new Scope(false, 1);
    scope.add(new Variable("i", Kind.INT, false));
    scope.add(new Variable("pi", Kind.INT, false));
    List<Kind> parameters = new ArrayList<>();
    StringBuilder declared = new StringBuilder("int i, int pi");
    int count = decisions.next(4);
    for (int p = 0; p < count; p++) {
      Kind kind = decisions.pick(decisions.kinds().all());
      parameters.add(kind);
      scope.add(new Variable("x" + p, kind, true));
      declared.append(", ").append(kind.keyword()).append(" x").append(p);
    }
    List<Kind> array = new ArrayList<>();
    if (decisions.chance(40)) {
      Kind kind = decisions.pick(decisions.kinds().elements());
      array.add(kind);
      // Private arrays have at least this length.
      scope.add(new OwnArray("a", kind, 4));
      declared.append(", ").append(kind.keyword()).append("[] a");
    }
    BodyWriter body =
        new BodyWriter(
            decisions, scope, List.copyOf(helpers), "u", result, decisions.between(1, 4));
    body.statements();
    if (!result.equals("void")) {
      Kind kind = Kind.valueOf(result.toUpperCase(Locale.ROOT));
      body.line("return " + body.expressions().of(kind, 2) + ";");
    }
    source.append("\n  private static ").append(result).append(" ").append(name).append("(");
    source.append(declared).append(") {\n").append(body.text()).append("  }\n");
    return new Helper(name, result, parameters, array, body.steps());
  }

  /** Makes the final values of variables a part of the result. */
  private static void showVariables(Scope scope, BodyWriter body) {
    String element = scope.stride() == 1 ? "wi[i]" : "wi[i * " + scope.stride() + "]";
    body.line("int sum = " + element + ";");
    for (Variable variable : scope.variables()) {
      if (variable.isAssignable()) {
        body.line("sum = 31 * sum + " + bits(variable.name(), variable.kind()) + ";");
      }
    }
    for (OwnArray array : scope.arrays()) {
      body.line("for (int q = 0; q < " + array.name() + ".length; q++) {");
      body.line("  sum = 31 * sum + " + bits(array.name() + "[q]", array.kind()) + ";");
      body.line("}");
    }
    body.line(element + " = sum;");
  }

  private static String bits(String value, Kind kind) {
    return switch (kind) {
      case BOOLEAN -> "(" + value + " ? 1 : 0)";
      case BYTE, SHORT, CHAR, INT -> value;
      case LONG -> "(int) (" + value + " ^ (" + value + " >>> 32))";
      case FLOAT -> "Float.floatToIntBits(" + value + ")";
      case DOUBLE -> "(int) (Double.doubleToLongBits(" + value + ") % 1000003)";
    };
  }
}
