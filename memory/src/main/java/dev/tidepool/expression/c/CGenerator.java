package dev.tidepool.expression.c;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.UnsupportedKernelException;
import dev.tidepool.expression.syntax.Node;
import dev.tidepool.expression.syntax.Op;
import dev.tidepool.expression.syntax.ScalarType;
import dev.tidepool.expression.types.DeviceTraits;
import dev.tidepool.expression.types.TypedProgram;
import dev.tidepool.expression.types.TypedProgram.ArrayParameter;
import dev.tidepool.expression.types.TypedProgram.Uniform;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Writes a program as a kernel in a dialect of C. A work item computes one element, or several that
 * are a group's size apart, after it has loaded all of them. Elements beyond the last are not
 * stored.
 *
 * <p>C defines less than NumPy: signed overflow and division by zero are undefined, so integers are
 * computed unsigned and divisors are guarded. Functions of floats are computed in double and
 * rounded once, because a device's own float functions may be off by 16 ulp. Such a kernel is
 * refused for a device without doubles, unless the dialect has accurate functions of floats.
 */
public final class CGenerator {
  /** The name of every kernel that is generated. */
  public static final String ENTRY = "elementwise";

  private final TypedProgram program;
  private final Dialect dialect;
  private final DeviceTraits traits;
  private final CPrelude prelude;
  // Functions of floats that the kernel calls.
  private final Set<String> called = new LinkedHashSet<>();
  // How a work item computes several elements; null if it computes one.
  private final Dialect.@Nullable Unrolling unrolling;

  private CGenerator(TypedProgram program, Dialect dialect, DeviceTraits traits) {
    this.program = program;
    this.dialect = dialect;
    this.traits = traits;
    this.prelude = new CPrelude(dialect, traits, called);
    // Functions take longer than memory accesses.
    boolean waitsForMemory = program.nodes().stream().noneMatch(Node::isFunction);
    this.unrolling = waitsForMemory ? dialect.unrolling() : null;
  }

  /**
   * Returns the kernel for {@code program}.
   *
   * @throws KernelCompilationException if the kernel needs doubles and the device has none
   */
  public static KernelText generate(TypedProgram program, Dialect dialect, DeviceTraits traits) {
    return new CGenerator(program, dialect, traits).kernel();
  }

  private KernelText kernel() {
    List<Node> nodes = program.nodes();
    if (!traits.fp64()) {
      nodes.forEach(this::refuseDouble);
    }
    KernelSignature signature = signature();
    Dialect.Unrolling several = unrolling;
    String body = several == null ? one(nodes) : several(nodes, several);
    String source =
        dialect.header(traits.fp64())
            + dialect.functions(called)
            + prelude.text()
            + "\n"
            + signature.declarations()
            + dialect.kernelQualifier()
            + " "
            + ENTRY
            + "(\n    "
            + signature.parameters()
            + ") {\n"
            + signature.prologue()
            + body
            + "}\n";
    return new KernelText(source, ENTRY, several == null ? 1 : several.elements());
  }

  private String one(List<Node> nodes) {
    return "  const "
        + indexType()
        + " i = "
        + dialect.index()
        + ";\n  if (i >= n) {\n    return;\n  }\n"
        + computed(nodes, "  ");
  }

  // Numbers are written by %s: %d would use the digits of the default locale.
  private String several(List<Node> nodes, Dialect.Unrolling several) {
    StringBuilder arrays = new StringBuilder();
    StringBuilder loads = new StringBuilder();
    for (Node node : nodes) {
      if (node.op() == Op.LOAD) {
        int array = (int) node.payload();
        String type = dialect.typeName(program.arrays().get(array).type());
        arrays.append("  %s l%s[%s];\n".formatted(type, node.id(), several.elements()));
        loads.append("    l%s[k] = %s;\n".formatted(node.id(), element(array)));
      }
    }
    String index = indexType();
    String each =
        "  #pragma unroll\n  for (int k = 0; k < %s; k++) {\n".formatted(several.elements());
    String at = "first + (%s)k * %s".formatted(index, several.step());
    // Beyond the last element, the last one is loaded: without a branch, all loads are in progress
    // at once.
    return "  const %s first = %s;\n%s".formatted(index, several.first(), arrays)
        + each
        + "    const %s at = %s;\n".formatted(index, at)
        + "    const %s i = at < n ? at : n - 1;\n%s  }\n".formatted(index, loads)
        + each
        + "    const %s i = %s;\n".formatted(index, at)
        + "    if (i < n) {\n%s    }\n  }\n".formatted(computed(nodes, "      "));
  }

  private String computed(List<Node> nodes, String indent) {
    StringBuilder body = new StringBuilder();
    for (Node node : nodes) {
      body.append(indent)
          .append("const ")
          .append(dialect.typeName(node.type()))
          .append(" v")
          .append(node.id())
          .append(" = ")
          .append(value(node))
          .append(";\n");
    }
    for (TypedProgram.Store store : program.stores()) {
      body.append(indent).append(element(store.array())).append(" = ");
      body.append(ref(store.value())).append(";\n");
    }
    return body.toString();
  }

  private String indexType() {
    return dialect.typeName(ScalarType.UINT64);
  }

  private KernelSignature signature() {
    KernelSignature signature = dialect.signature();
    String index = indexType();
    for (ArrayParameter array : program.arrays()) {
      String pointer = dialect.pointer(dialect.typeName(array.type()), !array.access().writes());
      signature.array(pointer, "a_" + array.name());
      signature.value(index, "o_" + array.name());
    }
    List<Uniform> uniforms = program.uniforms();
    for (int i = 0; i < uniforms.size(); i++) {
      String type = dialect.typeName(uniforms.get(i).type());
      signature.value(type, "u" + i);
    }
    signature.value(index, "n");
    return signature;
  }

  private void refuseDouble(Node node) {
    boolean viaDouble =
        (node.isFunction() && !dialect.hasFloatFunctions())
            || ((node.op() == Op.DIVIDE || node.op() == Op.SQRT || node.op() == Op.FLOOR_DIVIDE)
                && node.type() == ScalarType.FLOAT32
                && !traits.exactFloatDivision());
    if (viaDouble || node.type() == ScalarType.FLOAT64) {
      String what =
          node.type() == ScalarType.FLOAT64
              ? "float64 values"
              : "'" + node.op().symbol() + "' of float32, which is computed in double";
      throw new UnsupportedKernelException(
          "'"
              + program.expression().source().strip()
              + "' needs "
              + what
              + ", but the device has no double precision; use another device, such as the CPU");
    }
  }

  private String element(int array) {
    String name = program.arrays().get(array).name();
    return "a_" + name + "[o_" + name + " + i]";
  }

  private String load(Node node) {
    return unrolling == null ? element((int) node.payload()) : "l" + node.id() + "[k]";
  }

  private static String ref(Node node) {
    return "v" + node.id();
  }

  private String value(Node node) {
    List<String> args = node.args().stream().map(CGenerator::ref).toList();
    return switch (node.op()) {
      case LOAD -> load(node) + (node.type() == ScalarType.BOOL ? " != 0" : "");
      case UNIFORM -> "u" + node.payload();
      case CONSTANT -> constant(node);
      case CONVERT ->
          node.type() == ScalarType.BOOL
              ? args.getFirst() + " != 0"
              : cast(node.type(), args.getFirst());
      case SELECT -> args.get(0) + " ? " + args.get(1) + " : " + args.get(2);
      case NOT -> args.getFirst() + " ^ 1";
      case LOGICAL_AND -> binary("&", args);
      case LOGICAL_OR -> binary("|", args);
      case LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL ->
          binary(node.op().symbol(), args);
      default ->
          switch (node.type()) {
            case FLOAT32, FLOAT64 -> floating(node, args);
            case BOOL -> bool(node, args);
            default -> integer(node, args);
          };
    };
  }

  private static String binary(String operator, List<String> args) {
    return args.get(0) + " " + operator + " " + args.get(1);
  }

  private String cast(ScalarType type, String value) {
    return "(" + dialect.typeName(type) + ")" + value;
  }

  private String bool(Node node, List<String> args) {
    return switch (node.op()) {
      case ADD, BIT_OR, MAX -> binary("|", args);
      case MULTIPLY, BIT_AND, MIN -> binary("&", args);
      case BIT_XOR -> binary("^", args);
      case INVERT -> args.getFirst() + " ^ 1";
      default -> throw new AssertionError(node);
    };
  }

  /**
   * Returns an integer operation. Small integers are computed in 32 bits, unsigned if C leaves
   * overflow undefined.
   */
  private String integer(Node node, List<String> args) {
    ScalarType type = node.type();
    ScalarType wide =
        type.byteSize() == 8 ? type : type.isSigned() ? ScalarType.INT32 : ScalarType.UINT32;
    ScalarType modular = type.byteSize() == 8 ? ScalarType.UINT64 : ScalarType.UINT32;
    List<String> unsigned = args.stream().map(arg -> cast(modular, arg)).toList();
    String result =
        switch (node.op()) {
          case ADD, SUBTRACT, MULTIPLY, BIT_AND, BIT_OR, BIT_XOR ->
              binary(node.op().symbol(), unsigned);
          case NEGATE -> "0 - " + unsigned.getFirst();
          case INVERT -> "~" + unsigned.getFirst();
          case ABS ->
              args.getFirst() + " < 0 ? 0 - " + unsigned.getFirst() + " : " + unsigned.getFirst();
          case MIN -> binary("<", args) + " ? " + args.get(0) + " : " + args.get(1);
          case MAX -> binary(">", args) + " ? " + args.get(0) + " : " + args.get(1);
          case FLOOR_DIVIDE, REMAINDER, SHIFT_LEFT, SHIFT_RIGHT, POW ->
              prelude.call(node.op(), wide, args);
          default -> throw new AssertionError(node);
        };
    return cast(type, "(" + result + ")");
  }

  private String floating(Node node, List<String> args) {
    boolean single = node.type() == ScalarType.FLOAT32;
    return switch (node.op()) {
      case ADD, SUBTRACT, MULTIPLY -> binary(node.op().symbol(), args);
      case NEGATE -> "-" + args.getFirst();
      case ABS -> "fabs(" + args.getFirst() + ")";
      case MIN -> extreme("<", node.type(), args);
      case MAX -> extreme(">", node.type(), args);
      case FMA -> node.op().functionName() + "(" + String.join(", ", args) + ")";
      case DIVIDE, SQRT, FLOOR_DIVIDE, REMAINDER, FLOOR, CEIL, RINT ->
          prelude.call(node.op(), node.type(), args);
      default -> {
        if (single && dialect.hasFloatFunctions()) {
          String name = dialect.floatFunction(node.op().functionName());
          called.add(name);
          yield name + "(" + String.join(", ", args) + ")";
        }
        List<String> doubles =
            single ? args.stream().map(arg -> cast(ScalarType.FLOAT64, arg)).toList() : args;
        String call = node.op().functionName() + "(" + String.join(", ", doubles) + ")";
        yield single ? cast(ScalarType.FLOAT32, call) : call;
      }
    };
  }

  /**
   * Returns the first argument if it wins or is NaN, else the second, which may be NaN. A tie
   * matters only for zeros: negative zero is less, as on the CPU. The text has no branches, so that
   * compilers for processors vectorise it.
   */
  private String extreme(String wins, ScalarType type, List<String> args) {
    return "(%3$s %1$s %4$s) | (%3$s != %3$s) | ((%3$s == %4$s) & (copysign(%2$s, %3$s) %1$s 0)) ? %3$s : %4$s"
        .formatted(wins, cast(type, "1"), args.get(0), args.get(1));
  }

  private String constant(Node node) {
    long bits = node.payload();
    return switch (node.type()) {
      case FLOAT32 -> {
        float value = Float.intBitsToFloat((int) bits);
        yield Float.isFinite(value) ? Float.toHexString(value) + "f" : notFinite(value);
      }
      case FLOAT64 -> {
        double value = Double.longBitsToDouble(bits);
        yield Double.isFinite(value) ? Double.toHexString(value) : notFinite(value);
      }
      default -> cast(node.type(), "0x" + Long.toHexString(bits) + "UL");
    };
  }

  private static String notFinite(double value) {
    return Double.isNaN(value) ? "NAN" : value > 0 ? "INFINITY" : "-INFINITY";
  }
}
