package dev.tidepool.methods.jvm;

import static dev.tidepool.methods.tree.TreeBuilder.add;
import static dev.tidepool.methods.tree.TreeBuilder.assign;
import static dev.tidepool.methods.tree.TreeBuilder.binary;
import static dev.tidepool.methods.tree.TreeBuilder.compare;
import static dev.tidepool.methods.tree.TreeBuilder.constant;
import static dev.tidepool.methods.tree.TreeBuilder.index;
import static dev.tidepool.methods.tree.TreeBuilder.less;
import static dev.tidepool.methods.tree.TreeBuilder.read;
import static dev.tidepool.methods.tree.TreeBuilder.when;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.LaunchRange;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.Comparison;
import dev.tidepool.methods.tree.KernelExpression.Operator;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.Label;
import dev.tidepool.methods.tree.TreeBuilder;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Random kernels with barriers among loops, conditions and jumps compute what they compute without
 * the barriers. Each item uses an element of its own, so that barriers change nothing.
 */
class RandomBarriersTest {
  private static final int KERNELS = 300;
  private static final int ITEMS = 8;
  private static final LaunchRange RANGE = LaunchRange.of(ITEMS).inGroupsOf(4);

  @Test
  void barriersChangeNothingWhereItemsShareNothing() {
    long seed = Long.getLong("tidepool.seed", System.nanoTime());
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < KERNELS; i++) {
      Generator generator = new Generator(random.split());
      List<Statement> body = generator.body();
      JvmKernel with = JvmKernel.compile(generator.tree.build(body));
      KernelTree plain = generator.tree.build(generator.withoutBarriers(body));
      JvmKernel without = JvmKernel.compile(plain);
      for (int n = -1; n <= 4; n++) {
        int[] expected = new int[ITEMS];
        int[] found = new int[ITEMS];
        Run.all(without, RANGE, expected, n);
        Run.all(with, RANGE, found, n);
        assertThat(found)
            .as("-Dtidepool.seed=%s, kernel %s, n = %s: %s", seed, i, n, body)
            .isEqualTo(expected);
      }
    }
  }

  /** Writes one kernel. */
  private static final class Generator {
    private static final int MOST_STATEMENTS = 22;
    private static final int DEPTH = 3;

    private final TreeBuilder tree = new TreeBuilder();
    private final SplittableRandom random;
    private final KernelArray out = tree.array("out", ElementKind.INT);
    private final KernelExpression n = tree.scalar("n", ElementKind.INT);
    private final Variable value = tree.variable(ValueType.INT);
    private final Variable sum = tree.variable(ValueType.INT);
    private final List<Variable> counters = new ArrayList<>();
    private final List<Label> jumps = new ArrayList<>();
    private int made;

    Generator(SplittableRandom random) {
      this.random = random;
    }

    /** A body with at least one barrier. */
    List<Statement> body() {
      List<Statement> body = new ArrayList<>();
      body.add(assign(sum, constant(1)));
      body.addAll(statements(0));
      body.add(tree.barrier());
      body.addAll(statements(0));
      return body;
    }

    private List<Statement> statements(int depth) {
      List<Statement> list = new ArrayList<>();
      int count = 1 + random.nextInt(3);
      for (int i = 0; i < count; i++) {
        made++;
        int choice = made > MOST_STATEMENTS ? 0 : random.nextInt(100);
        if (choice < 30) {
          list.addAll(update());
        } else if (choice < 55) {
          list.add(tree.barrier());
        } else if (choice < 72 && depth < DEPTH) {
          List<Statement> otherwise = random.nextBoolean() ? statements(depth + 1) : List.of();
          list.add(new Statement.If(together(), statements(depth + 1), otherwise));
        } else if (choice < 87 && depth < DEPTH) {
          list.addAll(loop(depth));
        } else if (choice < 95 && !jumps.isEmpty()) {
          Label label = jumps.get(random.nextInt(jumps.size()));
          list.add(when(together(), new Statement.Break(label)));
        } else if (jumps.isEmpty()) {
          list.add(when(alone(), new Statement.Return()));
        } else {
          list.add(when(together(), new Statement.Return()));
        }
      }
      return list;
    }

    /** Changes the item's element, or its sum; perhaps not for all items. */
    private List<Statement> update() {
      KernelExpression changed =
          switch (random.nextInt(3)) {
            case 0 -> add(read(value), constant(1 + random.nextInt(9)));
            case 1 -> binary(Operator.XOR, read(value), read(sum));
            default -> add(read(value), read(value));
          };
      List<Statement> update =
          List.of(
              tree.load(value, out, index()),
              random.nextInt(4) == 0
                  ? assign(sum, add(read(sum), read(value)))
                  : tree.store(out, index(), changed));
      return random.nextBoolean() ? update : List.of(new Statement.If(alone(), update, List.of()));
    }

    /** {@code for (k = 0; k < bound; k++)}; jumps to its end, and to its next round, may follow. */
    private List<Statement> loop(int depth) {
      Variable counter = tree.variable(ValueType.INT);
      Label end = tree.label();
      Label next = tree.label();
      KernelExpression bound = random.nextInt(3) == 0 ? n : constant(2 + random.nextInt(2));
      counters.add(counter);
      jumps.add(end);
      jumps.add(next);
      List<Statement> body = statements(depth + 1);
      jumps.removeLast();
      jumps.removeLast();
      counters.removeLast();
      return List.of(
          assign(counter, constant(0)),
          new Statement.Block(
              end,
              List.of(
                  new Statement.Loop(
                      tree.label(),
                      List.of(
                          when(less(read(counter), bound).not(), new Statement.Break(end)),
                          new Statement.Block(next, body),
                          assign(counter, add(read(counter), constant(1))))))));
    }

    /** A condition that is the same for all items. */
    private KernelExpression together() {
      KernelExpression left = number();
      KernelExpression right = random.nextBoolean() ? number() : constant(random.nextInt(4));
      return switch (random.nextInt(3)) {
        case 0 -> less(left, right);
        case 1 -> compare(Comparison.EQUAL, left, right);
        default -> compare(Comparison.EQUAL, add(left, right), constant(random.nextInt(5)));
      };
    }

    private KernelExpression number() {
      int choice = random.nextInt(counters.size() + 1);
      return choice == counters.size() ? n : read(counters.get(choice));
    }

    /** A condition of each item. */
    private KernelExpression alone() {
      return random.nextBoolean()
          ? less(index(), constant(1 + random.nextInt(ITEMS - 1)))
          : compare(
              Comparison.EQUAL,
              binary(Operator.AND, index(), constant(1 + random.nextInt(3))),
              constant(random.nextInt(2)));
    }

    /** A copy with statements in place of the barriers that do nothing. */
    List<Statement> withoutBarriers(List<Statement> list) {
      return list.stream().map(this::withoutBarriers).toList();
    }

    private Statement withoutBarriers(Statement statement) {
      return switch (statement) {
        case Statement.Barrier _ -> assign(sum, read(sum));
        case Statement.If(KernelExpression condition, var then, var otherwise) ->
            new Statement.If(condition, withoutBarriers(then), withoutBarriers(otherwise));
        case Statement.Loop(Label label, var body) ->
            new Statement.Loop(label, withoutBarriers(body));
        case Statement.Block(Label label, var body) ->
            new Statement.Block(label, withoutBarriers(body));
        default -> statement;
      };
    }
  }
}
