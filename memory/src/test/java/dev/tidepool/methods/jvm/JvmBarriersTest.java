package dev.tidepool.methods.jvm;

import static dev.tidepool.methods.tree.TreeBuilder.add;
import static dev.tidepool.methods.tree.TreeBuilder.assign;
import static dev.tidepool.methods.tree.TreeBuilder.binary;
import static dev.tidepool.methods.tree.TreeBuilder.compare;
import static dev.tidepool.methods.tree.TreeBuilder.constant;
import static dev.tidepool.methods.tree.TreeBuilder.index;
import static dev.tidepool.methods.tree.TreeBuilder.less;
import static dev.tidepool.methods.tree.TreeBuilder.multiply;
import static dev.tidepool.methods.tree.TreeBuilder.number;
import static dev.tidepool.methods.tree.TreeBuilder.read;
import static dev.tidepool.methods.tree.TreeBuilder.toInt;
import static dev.tidepool.methods.tree.TreeBuilder.when;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.LaunchRange;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber.Kind;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.TreeBuilder;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The items of a group meet at barriers, though one thread runs them. */
class JvmBarriersTest {
  private static final KernelExpression LOCAL = toInt(number(Kind.LOCAL_ID, 0));
  private static final KernelExpression GROUP = toInt(number(Kind.GROUP_ID, 0));
  private static final KernelExpression SIZE = toInt(number(Kind.GROUP_SIZE, 0));

  private final TreeBuilder tree = new TreeBuilder();

  private Variable integer() {
    return tree.variable(ValueType.INT);
  }

  private static int[] squares(int n) {
    return IntStream.range(0, n).map(i -> i * i).toArray();
  }

  @Test
  void aSumOfEachGroupByHalving() {
    // tile[l] = x[i]; for (s = size / 2; s > 0; s >>= 1) { barrier; if (l < s) tile[l] += tile[l +
    // s]; }
    KernelArray x = tree.array("x", ElementKind.INT);
    KernelArray out = tree.array("out", ElementKind.INT);
    KernelArray tile = tree.shared(ElementKind.INT, 64);
    Variable value = integer();
    Variable other = integer();
    Variable stride = integer();
    Statement.Label end = tree.label();
    KernelTree kernel =
        tree.build(
            tree.load(value, x, index()),
            tree.store(tile, LOCAL, read(value)),
            assign(stride, binary(Operator.SHIFT_RIGHT, SIZE, constant(1))),
            new Statement.Block(
                end,
                List.of(
                    new Statement.Loop(
                        tree.label(),
                        List.of(
                            when(
                                compare(Comparison.GREATER, read(stride), constant(0)).not(),
                                new Statement.Break(end)),
                            tree.barrier(),
                            when(
                                less(LOCAL, read(stride)),
                                tree.load(value, tile, LOCAL),
                                tree.load(other, tile, add(LOCAL, read(stride))),
                                tree.store(tile, LOCAL, add(read(value), read(other)))),
                            assign(
                                stride,
                                binary(Operator.SHIFT_RIGHT, read(stride), constant(1))))))),
            tree.barrier(),
            when(
                compare(Comparison.EQUAL, LOCAL, constant(0)),
                tree.load(value, tile, constant(0)),
                tree.store(out, GROUP, read(value))));
    int[] in = squares(256);
    int[] sums = new int[4];
    Run.all(kernel, LaunchRange.of(256).inGroupsOf(64), in, sums);

    for (int group = 0; group < 4; group++) {
      assertThat(sums[group])
          .isEqualTo(IntStream.range(group * 64, group * 64 + 64).map(i -> i * i).sum());
    }
  }

  /**
   * {@code if (i >= n) return;} before and between barriers; neighbours see each other's stores.
   */
  @Test
  void itemsThatHaveReturnedMeetTheBarriers() {
    KernelArray out = tree.array("out", ElementKind.INT);
    KernelExpression n = tree.scalar("n", ElementKind.INT);
    KernelArray tile = tree.shared(ElementKind.INT, 8);
    Variable round = integer();
    Variable value = integer();
    Variable sum = integer();
    List<Statement> body = new ArrayList<>();
    body.add(tree.store(tile, LOCAL, index()));
    body.add(when(less(index(), n).not(), new Statement.Return()));
    body.add(assign(sum, constant(0)));
    List<Statement> inLoop = new ArrayList<>();
    inLoop.add(tree.barrier());
    inLoop.add(tree.load(value, tile, binary(Operator.AND, add(LOCAL, constant(1)), constant(7))));
    inLoop.add(tree.barrier());
    inLoop.add(tree.store(tile, LOCAL, add(read(value), constant(100))));
    inLoop.add(assign(sum, add(read(sum), read(value))));
    // Further items return in the loop.
    inLoop.add(when(less(add(index(), read(round)), n).not(), new Statement.Return()));
    body.addAll(tree.loop(round, constant(0), constant(3), 1, inLoop));
    body.add(tree.barrier());
    body.add(tree.store(out, index(), read(sum)));
    KernelTree kernel = tree.build(body);
    for (int limit : new int[] {16, 11, 8, 3, 0}) {
      int[] found = new int[16];
      Run.all(kernel, LaunchRange.of(16).inGroupsOf(8), found, limit);
      assertThat(found).as("n = %d", limit).isEqualTo(expectedOfReturns(limit));
    }
  }

  private static int[] expectedOfReturns(int n) {
    int[] found = new int[16];
    for (int group = 0; group < 2; group++) {
      int[] tile = new int[8];
      boolean[] returned = new boolean[8];
      int[] sum = new int[8];
      int[] value = new int[8];
      for (int l = 0; l < 8; l++) {
        tile[l] = group * 8 + l;
        returned[l] = group * 8 + l >= n;
      }
      for (int round = 0; round < 3; round++) {
        for (int l = 0; l < 8; l++) {
          value[l] = tile[l + 1 & 7];
        }
        for (int l = 0; l < 8; l++) {
          if (!returned[l]) {
            tile[l] = value[l] + 100;
            sum[l] += value[l];
            returned[l] = group * 8 + l + round >= n;
          }
        }
      }
      for (int l = 0; l < 8; l++) {
        found[group * 8 + l] = returned[l] ? 0 : sum[l];
      }
    }
    return found;
  }

  @Test
  void aLoopWhoseCountIsLoadedEndsThoughItemsHaveReturned() {
    // The count is in memory that is not written: all items of a group have the same.
    KernelArray counts = tree.array("counts", ElementKind.INT);
    KernelArray out = tree.array("out", ElementKind.INT);
    Variable count = integer();
    Variable round = integer();
    Variable rest = integer();
    List<Statement> body = new ArrayList<>();
    // Items at even places return at once, the first of the group too.
    body.add(
        when(
            compare(Comparison.EQUAL, binary(Operator.AND, LOCAL, constant(1)), constant(0)),
            new Statement.Return()));
    body.add(tree.load(count, counts, GROUP));
    List<Statement> inLoop = new ArrayList<>();
    inLoop.add(tree.barrier());
    inLoop.add(tree.load(rest, out, index()));
    inLoop.add(tree.store(out, index(), add(read(rest), constant(1))));
    body.addAll(tree.loop(round, constant(0), read(count), 1, inLoop));
    int[] found = new int[8];
    Run.all(tree.build(body), LaunchRange.of(8).inGroupsOf(4), new int[] {3, 0}, found);

    assertThat(found).containsExactly(0, 3, 0, 3, 0, 0, 0, 0);
  }

  @Test
  void arraysOfItemsLiveAcrossBarriers() {
    KernelArray out = tree.array("out", ElementKind.LONG);
    KernelArray.Private own = tree.own(ElementKind.LONG, 2);
    KernelArray shared = tree.shared(ElementKind.LONG, 4);
    Variable mine = tree.variable(ValueType.LONG);
    Variable theirs = tree.variable(ValueType.LONG);
    KernelExpression id = number(Kind.LOCAL_ID, 0);
    long[] found = new long[8];
    Run.all(
        tree.build(
            new Statement.Clear(own),
            tree.store(own, constant(1), id),
            tree.store(shared, LOCAL, multiply(id, KernelExpression.Constant.of(10L))),
            tree.barrier(),
            tree.load(theirs, shared, binary(Operator.SUBTRACT, constant(3), LOCAL)),
            tree.load(mine, own, constant(1)),
            tree.store(out, index(), add(read(mine), read(theirs)))),
        LaunchRange.of(8).inGroupsOf(4),
        found);

    assertThat(found).containsExactly(30, 21, 12, 3, 30, 21, 12, 3);
  }

  @Test
  void groupsOfTwoDimensionsAreTransposedThroughATile() {
    KernelArray x = tree.array("x", ElementKind.INT);
    KernelArray y = tree.array("y", ElementKind.INT);
    KernelArray tile = tree.shared(ElementKind.INT, 16);
    Variable value = integer();
    KernelExpression lx = toInt(number(Kind.LOCAL_ID, 0));
    KernelExpression ly = toInt(number(Kind.LOCAL_ID, 1));
    KernelExpression gx = toInt(number(Kind.GROUP_ID, 0));
    KernelExpression gy = toInt(number(Kind.GROUP_ID, 1));
    KernelExpression wide = toInt(number(Kind.GLOBAL_SIZE, 0));
    KernelExpression high = toInt(number(Kind.GLOBAL_SIZE, 1));
    Run.all(
        tree.build(
            tree.load(value, x, add(multiply(toInt(number(Kind.GLOBAL_ID, 1)), wide), index())),
            tree.store(tile, add(multiply(ly, constant(4)), lx), read(value)),
            tree.barrier(),
            tree.load(value, tile, add(multiply(lx, constant(4)), ly)),
            tree.store(
                y,
                add(
                    multiply(add(multiply(gx, constant(4)), ly), high),
                    add(multiply(gy, constant(4)), lx)),
                read(value))),
        LaunchRange.of(12, 8).inGroupsOf(4, 4),
        squares(96),
        transposed);

    for (int row = 0; row < 8; row++) {
      for (int column = 0; column < 12; column++) {
        int from = row * 12 + column;
        assertThat(transposed[column * 8 + row]).isEqualTo(from * from);
      }
    }
  }

  private final int[] transposed = new int[96];

  @Test
  void jumpsOfSomeItemsToTheEndOfABlockWithABarrier() {
    // block { barrier; if (all) { barrier; if (odd) break block; out += 1 } out += 10 } out += 100
    KernelArray out = tree.array("out", ElementKind.INT);
    KernelExpression all = tree.scalar("all", ElementKind.BOOLEAN);
    Variable value = integer();
    Statement.Label block = tree.label();
    KernelExpression odd =
        compare(Comparison.NOT_EQUAL, binary(Operator.AND, LOCAL, constant(1)), constant(0));
    List<Statement> plus1 = plus(out, value, 1);
    List<Statement> plus10 = plus(out, value, 10);
    List<Statement> inner = new ArrayList<>();
    inner.add(tree.barrier());
    inner.add(when(odd, new Statement.Break(block)));
    inner.addAll(plus1);
    List<Statement> outer = new ArrayList<>();
    outer.add(tree.barrier());
    outer.add(new Statement.If(all, inner, List.of()));
    outer.addAll(plus10);
    List<Statement> body = new ArrayList<>();
    body.add(new Statement.Block(block, outer));
    body.addAll(plus(out, value, 100));
    KernelTree kernel = tree.build(body);
    int[] found = new int[4];
    Run.all(kernel, LaunchRange.of(4).inGroupsOf(4), found, true);
    assertThat(found).containsExactly(111, 100, 111, 100);
    int[] others = new int[4];
    Run.all(kernel, LaunchRange.of(4).inGroupsOf(4), others, false);
    assertThat(others).containsExactly(110, 110, 110, 110);
  }

  private List<Statement> plus(KernelArray out, Variable value, int number) {
    return List.of(
        tree.load(value, out, index()),
        tree.store(out, index(), add(read(value), constant(number))));
  }

  @Test
  void theFirstFaultEndsTheLaunch() {
    KernelArray out = tree.array("out", ElementKind.INT);
    KernelTree kernel =
        tree.build(tree.barrier(), tree.store(out, add(index(), constant(2)), constant(1)));

    assertThatThrownBy(() -> Run.all(kernel, LaunchRange.of(4).inGroupsOf(4), new int[4]))
        .isExactlyInstanceOf(ArrayIndexOutOfBoundsException.class)
        .hasMessage("Index 4 out of bounds for length 4 of 'out'");
  }

  @Test
  void aBarrierThatNotAllItemsReachIsRefused() {
    KernelTree kernel = tree.build(when(less(index(), constant(3)), tree.barrier()));

    assertThatThrownBy(() -> JvmKernel.compile(kernel))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("test.Kernels.kernel(Kernels.java:100)")
        .hasMessageContaining("move the barrier out of it");
  }
}
