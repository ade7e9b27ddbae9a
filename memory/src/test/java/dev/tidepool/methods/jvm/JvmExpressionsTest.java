package dev.tidepool.methods.jvm;

import static dev.tidepool.methods.tree.TreeBuilder.assign;
import static dev.tidepool.methods.tree.TreeBuilder.index;
import static dev.tidepool.methods.tree.TreeBuilder.read;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.LaunchRange;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.Function;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.TreeBuilder;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every operation gives what Java gives, on values at the edges of its types. */
class JvmExpressionsTest {
  private static final int[] INTS = {
    0,
    1,
    -1,
    2,
    7,
    -13,
    31,
    32,
    33,
    64,
    65,
    255,
    65535,
    123456789,
    Integer.MAX_VALUE,
    Integer.MIN_VALUE,
    Integer.MIN_VALUE + 1
  };
  private static final long[] LONGS = {
    0,
    1,
    -1,
    2,
    63,
    65,
    1L << 31,
    (1L << 32) - 1,
    -(1L << 40),
    1234567890123456789L,
    Long.MAX_VALUE,
    Long.MIN_VALUE,
    Long.MIN_VALUE + 1
  };
  private static final float[] FLOATS = {
    0f,
    -0f,
    1f,
    -1f,
    0.5f,
    1.5f,
    2.5f,
    -2.5f,
    1e9f,
    -3e9f,
    1e19f,
    -1e19f,
    1e-45f,
    Float.MIN_NORMAL,
    Float.MAX_VALUE,
    Float.POSITIVE_INFINITY,
    Float.NEGATIVE_INFINITY,
    Float.NaN,
    8388609f,
    123.456f
  };
  private static final double[] DOUBLES = {
    0d,
    -0d,
    1d,
    -1d,
    0.5,
    1.5,
    2.5,
    -2.5,
    1e9,
    -3e9,
    1e19,
    -1e19,
    4.9e-324,
    Double.MIN_NORMAL,
    Double.MAX_VALUE,
    Double.POSITIVE_INFINITY,
    Double.NEGATIVE_INFINITY,
    Double.NaN,
    123.456,
    4503599627370497d
  };

  private static Object edges(ValueType type) {
    return switch (type) {
      case INT -> INTS;
      case LONG -> LONGS;
      case FLOAT -> FLOATS;
      case DOUBLE -> DOUBLES;
    };
  }

  private static ElementKind kind(ValueType type) {
    return ElementKind.valueOf(type.name());
  }

  private static Class<?> carrier(ValueType type) {
    return edges(type).getClass().getComponentType();
  }

  private interface Made {
    KernelExpression of(List<KernelExpression> operands);
  }

  private interface Expected {
    Object of(Object[] operands) throws Throwable;
  }

  /** Computes a value for all combinations of edges, three operands at most. */
  private static void check(List<ValueType> types, ValueType result, Made made, Expected expected)
      throws Throwable {
    int rows = 1;
    for (ValueType type : types) {
      rows *= Array.getLength(edges(type));
    }
    TreeBuilder tree = new TreeBuilder();
    List<Statement> body = new ArrayList<>();
    List<Object> arguments = new ArrayList<>();
    List<KernelExpression> operands = new ArrayList<>();
    int stride = 1;
    for (ValueType type : types) {
      Object edges = edges(type);
      Object column = Array.newInstance(carrier(type), rows);
      for (int row = 0; row < rows; row++) {
        Array.set(column, row, Array.get(edges, row / stride % Array.getLength(edges)));
      }
      stride *= Array.getLength(edges);
      KernelArray array = tree.array("x" + arguments.size(), kind(type));
      arguments.add(column);
      Variable value = tree.variable(type);
      body.add(tree.load(value, array, index()));
      operands.add(read(value));
    }
    KernelArray out = tree.array("out", kind(result));
    Object results = Array.newInstance(carrier(result), rows);
    arguments.add(results);
    body.add(tree.store(out, index(), made.of(operands)));
    Run.all(tree.build(body), LaunchRange.of(rows), arguments.toArray());
    for (int row = 0; row < rows; row++) {
      Object[] values = new Object[types.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = Array.get(arguments.get(i), row);
      }
      // Boxed numbers are equal if their bits are, but for the payloads of NaN.
      assertThat(Array.get(results, row))
          .as("of %s", (Object) values)
          .isEqualTo(expected.of(values));
    }
  }

  @ParameterizedTest
  @EnumSource(Operator.class)
  void operators(Operator operator) throws Throwable {
    boolean isQuotient = operator == Operator.DIVIDE || operator == Operator.REMAINDER;
    boolean isForAll =
        operator == Operator.ADD || operator == Operator.SUBTRACT || operator == Operator.MULTIPLY;
    for (ValueType type : ValueType.values()) {
      if (isForAll || isQuotient == type.isFloating()) {
        if (!isForAll && !isQuotient && type.isFloating()) {
          continue;
        }
        ValueType right = Plain.isShift(operator) ? ValueType.INT : type;
        check(
            List.of(type, right),
            type,
            operands -> new KernelExpression.Binary(operator, operands.get(0), operands.get(1)),
            values -> Plain.binary(operator, values[0], values[1]));
      }
    }
  }

  @ParameterizedTest
  @EnumSource(ValueType.class)
  void negation(ValueType type) throws Throwable {
    check(
        List.of(type),
        type,
        operands -> new KernelExpression.Negate(operands.getFirst()),
        values -> Plain.negate(values[0]));
  }

  @ParameterizedTest
  @EnumSource(Conversion.class)
  void conversions(Conversion conversion) throws Throwable {
    check(
        List.of(conversion.from()),
        conversion.to(),
        operands -> new KernelExpression.Convert(conversion, operands.getFirst()),
        values -> Plain.convert(conversion, values[0]));
  }

  @ParameterizedTest
  @EnumSource(Function.class)
  void functions(Function function) throws Throwable {
    List<Class<?>> types = new ArrayList<>();
    function.parameters().forEach(type -> types.add(carrier(type)));
    MethodHandle method =
        MethodHandles.lookup()
            .findStatic(
                Class.forName(function.owner()),
                function.method(),
                MethodType.methodType(carrier(function.result()), types));
    check(
        function.parameters(),
        function.result(),
        operands -> new KernelExpression.Call(function, operands),
        method::invokeWithArguments);
  }

  @ParameterizedTest
  @EnumSource(Comparison.class)
  void comparisons(Comparison comparison) throws Throwable {
    for (ValueType type : ValueType.values()) {
      for (boolean negated : new boolean[] {false, true}) {
        check(
            List.of(type, type),
            ValueType.INT,
            operands ->
                new KernelExpression.Compare(comparison, operands.get(0), operands.get(1), negated),
            values -> Plain.holds(comparison, values[0], values[1]) != negated ? 1 : 0);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(ValueType.class)
  void orders(ValueType type) throws Throwable {
    for (int unordered : new int[] {-1, 1}) {
      check(
          List.of(type, type),
          ValueType.INT,
          operands -> new KernelExpression.Order(operands.get(0), operands.get(1), unordered),
          values -> {
            if (Plain.holds(Comparison.LESS, values[0], values[1])) {
              return -1;
            }
            return Plain.holds(Comparison.EQUAL, values[0], values[1])
                ? 0
                : Plain.holds(Comparison.GREATER, values[0], values[1]) ? 1 : unordered;
          });
    }
  }

  @ParameterizedTest
  @EnumSource(Comparison.class)
  void conditions(Comparison comparison) {
    for (boolean negated : new boolean[] {false, true}) {
      TreeBuilder tree = new TreeBuilder();
      KernelArray left = tree.array("left", ElementKind.FLOAT);
      KernelExpression right = tree.scalar("right", ElementKind.FLOAT);
      KernelArray out = tree.array("out", ElementKind.INT);
      Variable value = tree.variable(ValueType.FLOAT);
      KernelExpression condition =
          new KernelExpression.Compare(comparison, read(value), right, negated);
      int[] ways = new int[FLOATS.length];
      Run.all(
          tree.build(
              tree.load(value, left, index()),
              new Statement.If(
                  condition,
                  List.of(tree.store(out, index(), KernelExpression.Constant.of(1))),
                  List.of(tree.store(out, index(), KernelExpression.Constant.of(2))))),
          LaunchRange.of(FLOATS.length),
          FLOATS,
          1.5f,
          ways);
      for (int i = 0; i < ways.length; i++) {
        boolean holds = Plain.holds(comparison, FLOATS[i], 1.5f) != negated;
        assertThat(ways[i]).as("%s %s 1.5", FLOATS[i], comparison).isEqualTo(holds ? 1 : 2);
      }
    }
  }

  @Test
  void quotientsOfIntegers() {
    for (ValueType type : List.of(ValueType.INT, ValueType.LONG)) {
      for (boolean isRemainder : new boolean[] {false, true}) {
        TreeBuilder tree = new TreeBuilder();
        KernelArray left = tree.array("left", kind(type));
        KernelExpression right = tree.scalar("right", kind(type));
        KernelArray out = tree.array("out", kind(type));
        Variable value = tree.variable(type);
        Variable quotient = tree.variable(type);
        JvmKernel kernel =
            JvmKernel.compile(
                tree.build(
                    tree.load(value, left, index()),
                    isRemainder
                        ? tree.remainder(quotient, read(value), right)
                        : tree.divide(quotient, read(value), right),
                    tree.store(out, index(), read(quotient))));
        Object edges = edges(type);
        int count = Array.getLength(edges);
        for (long divisor : new long[] {1, -1, 3, -7, Integer.MIN_VALUE}) {
          Object results = Array.newInstance(carrier(type), count);
          Run.all(kernel, LaunchRange.of(count), edges, divisor, results);
          for (int i = 0; i < count; i++) {
            long dividend = ((Number) Array.get(edges, i)).longValue();
            long exact = isRemainder ? dividend % divisor : dividend / divisor;
            assertThat(((Number) Array.get(results, i)).longValue())
                .as("%s of %d and %d", type, dividend, divisor)
                .isEqualTo(type == ValueType.INT ? (int) exact : exact);
          }
        }
      }
    }
  }

  @Test
  void constantsKeepTheirBits() {
    for (float value : FLOATS) {
      assertThat(
              constant(
                  new float[1],
                  new KernelExpression.Constant(ValueType.FLOAT, Float.floatToRawIntBits(value))))
          .isEqualTo(new float[] {value});
    }
    for (double value : DOUBLES) {
      assertThat(
              constant(
                  new double[1],
                  new KernelExpression.Constant(
                      ValueType.DOUBLE, Double.doubleToRawLongBits(value))))
          .isEqualTo(new double[] {value});
    }
    for (long value : LONGS) {
      assertThat(constant(new long[1], KernelExpression.Constant.of(value)))
          .isEqualTo(new long[] {value});
    }
    for (int value : INTS) {
      assertThat(constant(new int[1], KernelExpression.Constant.of(value)))
          .isEqualTo(new int[] {value});
    }
  }

  private static <A> A constant(A out, KernelExpression value) {
    TreeBuilder tree = new TreeBuilder();
    KernelArray array = tree.array("out", kind(value.type()));
    Run.all(tree.build(tree.store(array, index(), value)), LaunchRange.of(1), out);
    return out;
  }

  @Test
  void elementsAreNarrowedAndExtendedAsJavaDoesIt() {
    int[] stored = {0, 1, -1, 127, 128, -128, 255, 256, 32767, 32768, 65535, Integer.MIN_VALUE};
    check(ElementKind.BYTE, stored, value -> (int) value.byteValue());
    check(ElementKind.SHORT, stored, value -> (int) value.shortValue());
    check(ElementKind.BOOLEAN, stored, value -> value & 1);
  }

  private static void check(ElementKind kind, int[] stored, UnaryOperator<Integer> expected) {
    TreeBuilder tree = new TreeBuilder();
    KernelArray in = tree.array("in", ElementKind.INT);
    KernelArray small = tree.array("small", kind);
    KernelArray out = tree.array("out", ElementKind.INT);
    Variable value = tree.variable(ValueType.INT);
    Variable again = tree.variable(ValueType.INT);
    int[] results = new int[stored.length];
    Object elements =
        switch (kind) {
          case BYTE -> new byte[stored.length];
          case SHORT -> new short[stored.length];
          default -> new boolean[stored.length];
        };
    Run.all(
        tree.build(
            tree.load(value, in, index()),
            tree.store(small, index(), read(value)),
            tree.load(again, small, index()),
            tree.store(out, index(), read(again))),
        LaunchRange.of(stored.length),
        stored,
        elements,
        results);
    for (int i = 0; i < stored.length; i++) {
      assertThat(results[i]).isEqualTo(expected.apply(stored[i]));
    }
  }

  @Test
  void anyByteButZeroIsTrue() {
    TreeBuilder tree = new TreeBuilder();
    KernelArray in = tree.array("in", ElementKind.BOOLEAN);
    KernelArray out = tree.array("out", ElementKind.INT);
    Variable value = tree.variable(ValueType.INT);
    int[] results = new int[4];
    Run.all(
        tree.build(tree.load(value, in, index()), tree.store(out, index(), read(value))),
        LaunchRange.of(4),
        new byte[] {0, 1, -128, 2},
        results);
    assertThat(results).containsExactly(0, 1, 1, 1);
  }

  @Test
  void scalarsOfEveryType() {
    TreeBuilder tree = new TreeBuilder();
    KernelExpression truth = tree.scalar("z", ElementKind.BOOLEAN);
    KernelExpression small = tree.scalar("b", ElementKind.BYTE);
    KernelExpression shorter = tree.scalar("s", ElementKind.SHORT);
    KernelExpression integer = tree.scalar("i", ElementKind.INT);
    KernelExpression wide = tree.scalar("l", ElementKind.LONG);
    KernelExpression single = tree.scalar("f", ElementKind.FLOAT);
    KernelExpression twice = tree.scalar("d", ElementKind.DOUBLE);
    KernelArray ints = tree.array("ints", ElementKind.INT);
    KernelArray longs = tree.array("longs", ElementKind.LONG);
    KernelArray floats = tree.array("floats", ElementKind.FLOAT);
    KernelArray doubles = tree.array("doubles", ElementKind.DOUBLE);
    Variable unused = tree.variable(ValueType.INT);
    int[] i = new int[4];
    long[] l = new long[1];
    float[] f = new float[1];
    double[] d = new double[1];
    Run.all(
        tree.build(
            assign(unused, truth),
            tree.store(ints, TreeBuilder.constant(0), read(unused)),
            tree.store(ints, TreeBuilder.constant(1), small),
            tree.store(ints, TreeBuilder.constant(2), shorter),
            tree.store(ints, TreeBuilder.constant(3), integer),
            tree.store(longs, TreeBuilder.constant(0), wide),
            tree.store(floats, TreeBuilder.constant(0), single),
            tree.store(doubles, TreeBuilder.constant(0), twice)),
        LaunchRange.of(1),
        true,
        -5L,
        -300L,
        Long.valueOf(Integer.MIN_VALUE),
        Long.MIN_VALUE,
        -0f,
        Math.PI,
        i,
        l,
        f,
        d);
    assertThat(i).containsExactly(1, -5, -300, Integer.MIN_VALUE);
    assertThat(l).containsExactly(Long.MIN_VALUE);
    assertThat(f).containsExactly(-0f);
    assertThat(d).containsExactly(Math.PI);
  }
}
