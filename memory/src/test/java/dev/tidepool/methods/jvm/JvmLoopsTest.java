package dev.tidepool.methods.jvm;

import static dev.tidepool.methods.tree.TreeBuilder.add;
import static dev.tidepool.methods.tree.TreeBuilder.assign;
import static dev.tidepool.methods.tree.TreeBuilder.binary;
import static dev.tidepool.methods.tree.TreeBuilder.compare;
import static dev.tidepool.methods.tree.TreeBuilder.constant;
import static dev.tidepool.methods.tree.TreeBuilder.less;
import static dev.tidepool.methods.tree.TreeBuilder.multiply;
import static dev.tidepool.methods.tree.TreeBuilder.read;
import static dev.tidepool.methods.tree.TreeBuilder.when;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.tidepool.LaunchRange;
import dev.tidepool.methods.analysis.LoopChecks;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.Conversion;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.TreeBuilder;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** One test in front of a loop gives the same results and the same faults as one at each access. */
class JvmLoopsTest {
  private static final int[] EDGES = {
    0,
    1,
    2,
    5,
    8,
    9,
    -1,
    -2,
    -9,
    Integer.MAX_VALUE,
    Integer.MAX_VALUE - 1,
    Integer.MIN_VALUE,
    Integer.MIN_VALUE + 2,
    1 << 30,
    -1 << 30,
    1 << 16
  };

  private final TreeBuilder tree = new TreeBuilder();

  /** How an index is computed from the loop's variable. */
  private enum Shape {
    PLAIN,
    SHIFTED,
    SCALED,
    DOWN,
    BY_SHIFT,
    BY_LONG,
    BEHIND_STEP,
    UNEVEN
  }

  private static KernelExpression index(
      Shape shape, KernelExpression v, KernelExpression factor, KernelExpression offset) {
    return switch (shape) {
      case PLAIN, BEHIND_STEP -> v;
      case SHIFTED -> add(offset, v);
      case SCALED -> add(multiply(v, factor), offset);
      case DOWN -> binary(Operator.SUBTRACT, offset, v);
      case BY_SHIFT -> add(binary(Operator.SHIFT_LEFT, v, constant(1)), offset);
      case BY_LONG ->
          TreeBuilder.toInt(
              add(
                  new KernelExpression.Convert(Conversion.I2L, offset),
                  new KernelExpression.Convert(Conversion.I2L, v)));
      case UNEVEN -> binary(Operator.XOR, v, offset);
    };
  }

  private static int plain(Shape shape, int v, int step, int factor, int offset) {
    return switch (shape) {
      case PLAIN -> v;
      case BEHIND_STEP -> v + step;
      case SHIFTED -> offset + v;
      case SCALED -> v * factor + offset;
      case DOWN -> offset - v;
      case BY_SHIFT -> (v << 1) + offset;
      case BY_LONG -> (int) ((long) offset + v);
      case UNEVEN -> v ^ offset;
    };
  }

  /** {@code for (v = from; v ? to; v += step) y[0] += x[index]}; at most 20 rounds. */
  private KernelTree kernel(Shape shape, Comparison stays, int step) {
    KernelExpression from = tree.scalar("from", ElementKind.INT);
    KernelExpression to = tree.scalar("to", ElementKind.INT);
    KernelExpression factor = tree.scalar("factor", ElementKind.INT);
    KernelExpression offset = tree.scalar("offset", ElementKind.INT);
    KernelArray x = tree.array("x", ElementKind.INT);
    KernelArray y = tree.array("y", ElementKind.INT);
    Variable v = tree.variable(ValueType.INT);
    Variable sum = tree.variable(ValueType.INT);
    Variable element = tree.variable(ValueType.INT);
    Variable rounds = tree.variable(ValueType.INT);
    Statement.Label end = tree.label();
    Statement next = assign(v, add(read(v), constant(step)));
    List<Statement> body = new ArrayList<>();
    body.add(when(compare(stays, read(v), to).not(), new Statement.Break(end)));
    body.add(when(less(read(rounds), constant(20)).not(), new Statement.Break(end)));
    body.add(assign(rounds, add(read(rounds), constant(1))));
    if (shape == Shape.BEHIND_STEP) {
      body.add(next);
    }
    body.add(tree.load(element, x, index(shape, read(v), factor, offset)));
    body.add(assign(sum, add(read(sum), read(element))));
    if (shape != Shape.BEHIND_STEP) {
      body.add(next);
    }
    return tree.build(
        assign(sum, constant(0)),
        assign(rounds, constant(0)),
        assign(v, from),
        new Statement.Block(end, List.of(new Statement.Loop(tree.label(), body))),
        tree.store(y, constant(0), read(sum)));
  }

  private static String plain(
      Shape shape, Comparison stays, int step, int from, int to, int factor, int offset, int[] x) {
    int sum = 0;
    int v = from;
    for (int round = 0; round < 20 && Plain.holds(stays, v, to); round++) {
      int at = plain(shape, v, step, factor, offset);
      if (at < 0 || at >= x.length) {
        return "Index " + at + " out of bounds for length " + x.length + " of 'x'";
      }
      sum += x[at];
      v += step;
    }
    return Integer.toString(sum);
  }

  private static void check(Shape shape, Comparison stays, int step) {
    KernelTree loop = new JvmLoopsTest().kernel(shape, stays, step);
    JvmKernel kernel = JvmKernel.compile(loop);
    Random random = new Random(shape.ordinal() * 31L + step);
    for (int i = 0; i < 400; i++) {
      if (i % 20 == 0) {
        // Its first launch fixes the bound of the loop.
        kernel = JvmKernel.compile(loop);
      }
      int[] x = new int[random.nextInt(20)];
      Arrays.setAll(x, at -> at * at + 1);
      int from = some(random);
      int to = some(random);
      int factor = some(random);
      int offset = some(random);
      int[] y = new int[1];
      Throwable thrown = thrownBy(kernel, LaunchRange.of(1), from, to, factor, offset, x, y);
      assertThat(thrown == null ? Integer.toString(y[0]) : thrown.getMessage())
          .as(
              "%s %s %d: from %d to %d, %d, %d, %d",
              shape, stays, step, from, to, factor, offset, x.length)
          .isEqualTo(plain(shape, stays, step, from, to, factor, offset, x));
    }
  }

  private static Throwable thrownBy(JvmKernel kernel, LaunchRange range, Object... arguments) {
    return catchThrowable(() -> Run.all(kernel, range, arguments));
  }

  private static int some(Random random) {
    return random.nextInt(3) == 0 ? EDGES[random.nextInt(EDGES.length)] : random.nextInt(24) - 4;
  }

  @ParameterizedTest
  @EnumSource(Shape.class)
  void loopsUpAndDown(Shape shape) {
    for (int step : new int[] {1, 3}) {
      check(shape, Comparison.LESS, step);
      check(shape, Comparison.LESS_EQUAL, step);
    }
    for (int step : new int[] {-1, -2}) {
      check(shape, Comparison.GREATER, step);
      check(shape, Comparison.GREATER_EQUAL, step);
    }
    check(shape, Comparison.NOT_EQUAL, 1);
  }

  @Test
  void onlyIndicesThatGrowEvenlyAreTestedInFront() {
    for (Shape shape : Shape.values()) {
      KernelTree kernel = new JvmLoopsTest().kernel(shape, Comparison.LESS, 1);
      LoopChecks.Result result = LoopChecks.of(kernel.body(), kernel.labels());
      assertThat(result.loops()).as("%s", shape).isEqualTo(shape == Shape.UNEVEN ? 0 : 1);
    }
  }

  @Test
  void aBoundMayBeAnotherInALaterLaunch() {
    KernelExpression dims = tree.scalar("dims", ElementKind.INT);
    KernelArray rows = tree.array("rows", ElementKind.FLOAT);
    KernelArray query = tree.array("query", ElementKind.FLOAT);
    KernelArray scores = tree.array("scores", ElementKind.FLOAT);
    KernelTree kernel = DotTree.of(tree, dims, rows, query, scores);
    assertThat(LoopBounds.of(kernel).parameters()).containsExactly(0);
    JvmKernel compiled = JvmKernel.compile(kernel);
    float[] x = {1, 2, 3, 4, 5, 6};
    float[] y = {1, 10, 100};
    for (int launch = 0; launch < 3; launch++) {
      float[] threes = new float[2];
      Run.all(compiled, LaunchRange.of(2), 3, x, y, threes);
      assertThat(threes).containsExactly(321, 654);
      float[] twos = new float[3];
      Run.all(compiled, LaunchRange.of(3), 2, x, y, twos);
      assertThat(twos).containsExactly(21, 43, 65);
    }
  }

  @Test
  void productsOfRowsAndAQueryAndTheirFaults() {
    KernelExpression dims = tree.scalar("dims", ElementKind.INT);
    KernelArray rows = tree.array("rows", ElementKind.FLOAT);
    KernelArray query = tree.array("query", ElementKind.FLOAT);
    KernelArray scores = tree.array("scores", ElementKind.FLOAT);
    KernelTree kernel = DotTree.of(tree, dims, rows, query, scores);
    float[] x = new float[30];
    for (int i = 0; i < x.length; i++) {
      x[i] = i;
    }
    float[] found = new float[10];
    Run.all(kernel, LaunchRange.of(10), 3, x, new float[] {1, 10, 100}, found);
    for (int row = 0; row < 10; row++) {
      assertThat(found[row]).isEqualTo(row * 3 * 111 + 210f);
    }
    Throwable thrown =
        catchThrowable(
            () ->
                Run.all(
                    kernel,
                    LaunchRange.of(10),
                    3,
                    Arrays.copyOf(x, 29),
                    new float[] {1, 10, 100},
                    new float[10]));
    assertThat(thrown).hasMessage("Index 29 out of bounds for length 29 of 'rows'");
    assertThat(thrown.getStackTrace()[0].getFileName()).isEqualTo("Kernels.java");
  }
}
