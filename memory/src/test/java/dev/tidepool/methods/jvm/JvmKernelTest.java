package dev.tidepool.methods.jvm;

import static dev.tidepool.methods.tree.TreeBuilder.add;
import static dev.tidepool.methods.tree.TreeBuilder.assign;
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
import dev.tidepool.LogLines;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelExpression.ItemNumber.Kind;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Statement.AtomicOperation;
import dev.tidepool.methods.tree.TreeBuilder;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Statements, ranges, groups and atomic steps of generated kernels. */
class JvmKernelTest {
  @RegisterExtension final LogLines log = new LogLines();

  @Test
  void loopsBlocksAndJumps() {
    // for (k = 0; ; k++) { if (k >= n) break; if (k == 2) continue; sum += k; }, then a block.
    TreeBuilder tree = new TreeBuilder();
    KernelExpression n = tree.scalar("n", ElementKind.INT);
    KernelArray out = tree.array("out", ElementKind.INT);
    Variable k = tree.variable(ValueType.INT);
    Variable sum = tree.variable(ValueType.INT);
    Statement.Label loop = tree.label();
    Statement.Label block = tree.label();
    KernelTree kernel =
        tree.build(
            assign(sum, constant(0)),
            assign(k, constant(-1)),
            new Statement.Loop(
                loop,
                List.of(
                    assign(k, add(read(k), constant(1))),
                    when(less(read(k), n).not(), new Statement.Break(loop)),
                    when(
                        TreeBuilder.compare(
                            KernelExpression.Comparison.EQUAL, read(k), constant(2)),
                        new Statement.Continue(loop)),
                    assign(sum, add(read(sum), read(k))))),
            new Statement.Block(
                block,
                List.of(
                    when(less(index(), constant(1)), new Statement.Break(block)),
                    assign(sum, add(read(sum), constant(1000))))),
            when(less(constant(1), index()), new Statement.Return()),
            tree.store(out, index(), read(sum)));
    int[] results = new int[3];
    Run.all(kernel, LaunchRange.of(3), 5, results);

    assertThat(results).containsExactly(8, 1008, 0);
  }

  @Test
  void variablesOfOneItemAreNotThoseOfTheNext() {
    // Only item 0 sets the variable; a reader of bytecode never makes such a tree that matters.
    TreeBuilder tree = new TreeBuilder();
    KernelArray out = tree.array("out", ElementKind.INT);
    Variable value = tree.variable(ValueType.INT);
    int[] results = new int[3];
    Run.all(
        tree.build(
            when(less(index(), constant(1)), assign(value, constant(7))),
            tree.store(out, index(), read(value))),
        LaunchRange.of(3),
        results);

    assertThat(results).containsExactly(7, 0, 0);
  }

  @Test
  void arraysOfAnItemAreClearedForEachItem() {
    TreeBuilder tree = new TreeBuilder();
    KernelArray out = tree.array("out", ElementKind.DOUBLE);
    KernelArray.Private own = tree.own(ElementKind.DOUBLE, 3);
    Variable value = tree.variable(ValueType.DOUBLE);
    double[] results = new double[4];
    Run.all(
        tree.build(
            new Statement.Clear(own),
            tree.load(value, own, constant(1)),
            tree.store(
                own,
                constant(1),
                add(
                    read(value),
                    new KernelExpression.Convert(KernelExpression.Conversion.I2D, index()))),
            tree.load(value, own, constant(1)),
            tree.store(out, index(), read(value))),
        LaunchRange.of(4),
        results);

    assertThat(results).containsExactly(0, 1, 2, 3);
  }

  /** {@code out[x + y * X + z * X * Y] = number}. */
  private static KernelTree numbers(Kind kind, int dimension) {
    TreeBuilder tree = new TreeBuilder();
    KernelArray out = tree.array("out", ElementKind.LONG);
    KernelExpression at =
        add(
            toInt(number(Kind.GLOBAL_ID, 0)),
            multiply(
                toInt(number(Kind.GLOBAL_SIZE, 0)),
                add(
                    toInt(number(Kind.GLOBAL_ID, 1)),
                    multiply(
                        toInt(number(Kind.GLOBAL_SIZE, 1)), toInt(number(Kind.GLOBAL_ID, 2))))));
    return tree.build(tree.store(out, at, number(kind, dimension)));
  }

  @Test
  void theNumbersOfItemsInThreeDimensions() {
    for (LaunchRange range :
        List.of(
            LaunchRange.of(4, 6, 2),
            LaunchRange.of(4, 6, 2).inGroupsOf(2, 3, 1),
            LaunchRange.of(4, 6, 2).inGroupsOf(4, 1, 2),
            LaunchRange.of(8, 6).inGroupsOf(4, 3),
            LaunchRange.of(48).inGroupsOf(16),
            LaunchRange.of(48))) {
      for (Kind kind : Kind.values()) {
        for (int dimension = 0; dimension < 3; dimension++) {
          long[] found = new long[48];
          Arrays.fill(found, -1);
          Run.all(numbers(kind, dimension), range, found);
          assertThat(found)
              .as("%s %d of %s", kind, dimension, range)
              .isEqualTo(expected(range, kind, dimension));
        }
      }
    }
  }

  private static long[] expected(LaunchRange range, Kind kind, int dimension) {
    long[] size = {1, 1, 1};
    long[] group = {1, 1, 1};
    for (int i = 0; i < range.global().size(); i++) {
      size[i] = range.global().get(i);
      group[i] = range.group().isEmpty() ? 1 : range.group().get(i);
    }
    return IntStream.range(0, 48)
        .mapToLong(
            item -> {
              long[] id = {item % size[0], item / size[0] % size[1], item / size[0] / size[1]};
              return switch (kind) {
                case GLOBAL_ID -> id[dimension];
                case LOCAL_ID -> id[dimension] % group[dimension];
                case GROUP_ID -> id[dimension] / group[dimension];
                case GLOBAL_SIZE -> size[dimension];
                case GROUP_SIZE -> group[dimension];
              };
            })
        .toArray();
  }

  @Test
  void everyPartOfTheGroupsIsExactlyThoseItems() {
    LaunchRange range = LaunchRange.of(6, 4, 2).inGroupsOf(2, 1, 1);
    TreeBuilder tree = new TreeBuilder();
    KernelArray out = tree.array("out", ElementKind.INT);
    KernelExpression at =
        add(
            index(),
            multiply(
                constant(6),
                add(
                    toInt(number(Kind.GLOBAL_ID, 1)),
                    multiply(constant(4), toInt(number(Kind.GLOBAL_ID, 2))))));
    Variable value = tree.variable(ValueType.INT);
    JvmKernel kernel =
        JvmKernel.compile(
            tree.build(
                tree.load(value, out, at), tree.store(out, at, add(read(value), constant(1)))));
    long groups = new GroupGrid(range).groups();
    assertThat(groups).isEqualTo(24);
    for (int from = 0; from <= groups; from++) {
      for (int to = from; to <= groups; to++) {
        int[] counts = new int[48];
        MemorySegment memory = MemorySegment.ofArray(counts);
        kernel.run(false, new MemorySegment[] {memory}, new Object[1], range, from, to);
        for (int item = 0; item < counts.length; item++) {
          int group = item / 2;
          assertThat(counts[item]).isEqualTo(group >= from && group < to ? 1 : 0);
        }
      }
    }
  }

  @Test
  void emptyRangesDoNothing() {
    KernelTree kernel = numbers(Kind.GLOBAL_ID, 0);
    long[] none = {-1};
    Run.all(kernel, LaunchRange.of(0), none);
    Run.all(kernel, LaunchRange.of(3, 0, 2), none);

    assertThat(none).containsExactly(-1);
  }

  @Test
  void itemsBeyondTheNumbersOfInts() {
    // Only the items of two groups around 2^31 are run.
    TreeBuilder tree = new TreeBuilder();
    KernelArray out = tree.array("out", ElementKind.LONG);
    KernelExpression id = number(Kind.GLOBAL_ID, 0);
    KernelExpression first =
        new KernelExpression.Convert(KernelExpression.Conversion.I2L, constant(-16));
    KernelExpression at =
        toInt(
            TreeBuilder.binary(
                KernelExpression.Operator.SUBTRACT,
                id,
                TreeBuilder.binary(
                    KernelExpression.Operator.SUBTRACT,
                    KernelExpression.Constant.of(1L << 31),
                    new KernelExpression.Negate(first))));
    long[] found = new long[32];
    JvmKernel.compile(tree.build(tree.store(out, at, id)))
        .run(
            false,
            new MemorySegment[] {MemorySegment.ofArray(found)},
            new Object[1],
            LaunchRange.of(1L << 40).inGroupsOf(16),
            (1L << 27) - 1,
            (1L << 27) + 1);

    assertThat(found).isEqualTo(LongStream.range(0, 32).map(i -> (1L << 31) - 16 + i).toArray());
  }

  @Test
  void memoryWithoutViewsIsUsedAsSegments() {
    // A view of an array of floats on the heap does not exist; arrays beyond 2 GiB go this way too.
    TreeBuilder tree = new TreeBuilder();
    KernelArray x = tree.array("x", ElementKind.FLOAT);
    KernelArray y = tree.array("y", ElementKind.FLOAT);
    Variable value = tree.variable(ValueType.FLOAT);
    JvmKernel kernel =
        JvmKernel.compile(
            tree.build(
                tree.load(value, x, index()),
                tree.store(y, index(), add(read(value), read(value)))));
    float[] in = {1, 2, 3};
    float[] out = new float[3];
    kernel.run(
        false,
        new MemorySegment[] {MemorySegment.ofArray(in).asReadOnly(), MemorySegment.ofArray(out)},
        new Object[2],
        LaunchRange.of(3),
        0,
        3);

    assertThat(out).containsExactly(2, 4, 6);
    assertThatThrownBy(
            () ->
                kernel.run(
                    false,
                    new MemorySegment[] {
                      MemorySegment.ofArray(in), MemorySegment.ofArray(new float[2])
                    },
                    new Object[2],
                    LaunchRange.of(3),
                    0,
                    3))
        .hasMessage("Index 2 out of bounds for length 2 of 'y'");
  }

  @Test
  void memoryOfEverySizeThatIntsIndexIsUsed() {
    TreeBuilder tree = new TreeBuilder();
    KernelArray x = tree.array("x", ElementKind.BYTE);
    JvmKernel kernel = JvmKernel.compile(tree.build(tree.store(x, index(), constant(7))));
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment first = arena.allocate(1);
      for (int size = Integer.MAX_VALUE - 9; size > 0; size++) {
        first.set(ValueLayout.JAVA_BYTE, 0, (byte) 0);
        // Only the first byte exists, and only the first item is run.
        kernel.run(
            false,
            new MemorySegment[] {first.reinterpret(size)},
            new Object[1],
            LaunchRange.of(1),
            0,
            1);
        assertThat(first.get(ValueLayout.JAVA_BYTE, 0)).as("of %d bytes", size).isEqualTo((byte) 7);
      }
    }
  }

  @Test
  void atomicStepsOfSeveralThreads() throws Exception {
    int items = 20_000;
    for (ElementKind kind :
        List.of(ElementKind.INT, ElementKind.LONG, ElementKind.FLOAT, ElementKind.DOUBLE)) {
      TreeBuilder tree = new TreeBuilder();
      KernelArray out = tree.array("out", kind);
      KernelExpression id = converted(kind, index());
      List<Statement> body = new ArrayList<>();
      body.add(tree.atomic(AtomicOperation.ADD, out, constant(0), converted(kind, constant(1))));
      boolean isInteger = kind == ElementKind.INT || kind == ElementKind.LONG;
      if (isInteger) {
        body.add(tree.atomic(AtomicOperation.MAX, out, constant(1), id));
        body.add(
            tree.atomic(AtomicOperation.MIN, out, constant(2), new KernelExpression.Negate(id)));
      }
      JvmKernel kernel = JvmKernel.compile(tree.build(body));
      try (Arena arena = Arena.ofShared()) {
        MemorySegment memory = arena.allocate(3L * kind.bytes(), 8);
        LaunchRange range = LaunchRange.of(items);
        AtomicInteger next = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
          threads.add(
              Thread.ofPlatform()
                  .start(
                      () -> {
                        for (int at = next.getAndAdd(500); at < items; at = next.getAndAdd(500)) {
                          kernel.run(
                              false,
                              new MemorySegment[] {memory},
                              new Object[1],
                              range,
                              at,
                              at + 500);
                        }
                      }));
        }
        for (Thread thread : threads) {
          thread.join();
        }
        assertThat(element(memory, kind, 0)).isEqualTo(items);
        if (isInteger) {
          assertThat(element(memory, kind, 1)).isEqualTo(items - 1);
          assertThat(element(memory, kind, 2)).isEqualTo(1 - items);
        }
      }
    }
  }

  private static KernelExpression converted(ElementKind kind, KernelExpression value) {
    return switch (kind) {
      case LONG -> new KernelExpression.Convert(KernelExpression.Conversion.I2L, value);
      case FLOAT -> new KernelExpression.Convert(KernelExpression.Conversion.I2F, value);
      case DOUBLE -> new KernelExpression.Convert(KernelExpression.Conversion.I2D, value);
      default -> value;
    };
  }

  private static double element(MemorySegment memory, ElementKind kind, int index) {
    return switch (kind) {
      case LONG -> memory.getAtIndex(ValueLayout.JAVA_LONG, index);
      case FLOAT -> memory.getAtIndex(ValueLayout.JAVA_FLOAT, index);
      case DOUBLE -> memory.getAtIndex(ValueLayout.JAVA_DOUBLE, index);
      default -> memory.getAtIndex(ValueLayout.JAVA_INT, index);
    };
  }

  @Test
  void atomicStepsAnswerTheValueBefore() {
    for (boolean isShared : new boolean[] {false, true}) {
      for (ElementKind kind : List.of(ElementKind.INT, ElementKind.LONG)) {
        TreeBuilder tree = new TreeBuilder();
        KernelArray out = tree.array("out", kind);
        KernelArray x = isShared ? tree.shared(kind, 1) : tree.array("x", kind);
        List<Statement> body = new ArrayList<>();
        body.add(tree.store(x, constant(0), converted(kind, constant(10))));
        int step = 0;
        for (AtomicOperation operation : AtomicOperation.values()) {
          Variable before = tree.variable(kind.loaded());
          KernelExpression expected =
              operation == AtomicOperation.COMPARE_AND_SET ? converted(kind, constant(20)) : null;
          body.add(
              new Statement.Atomic(
                  before,
                  operation,
                  x,
                  constant(0),
                  expected,
                  converted(kind, constant(new int[] {5, 12, 20, 3}[step])),
                  null));
          body.add(tree.store(out, constant(step++), read(before)));
        }
        Variable last = tree.variable(kind.loaded());
        body.add(tree.load(last, x, constant(0)));
        body.add(tree.store(out, constant(step), read(last)));
        Object results = kind == ElementKind.INT ? new int[5] : new long[5];
        Object memory = kind == ElementKind.INT ? new int[1] : new long[1];
        if (isShared) {
          Run.all(tree.build(body), LaunchRange.of(1), results);
        } else {
          Run.all(tree.build(body), LaunchRange.of(1), results, memory);
        }
        assertThat(results)
            .as("%s %s", kind, isShared)
            .isEqualTo(
                kind == ElementKind.INT
                    ? new int[] {10, 15, 12, 20, 3}
                    : new long[] {10, 15, 12, 20, 3});
      }
    }
  }

  @Test
  void aKernelThatHotSpotDoesNotCompileIsReported() {
    JvmKernel.compile(stores(10));
    assertThat(log.all()).isEmpty();

    JvmKernel.compile(stores(700));
    assertThat(log.all()).hasSize(1);
    assertThat(log.all().getFirst()).contains("kernel {0}.{1} has {2} bytes of bytecode");
  }

  private static KernelTree stores(int count) {
    TreeBuilder tree = new TreeBuilder();
    KernelArray out = tree.array("out", ElementKind.INT);
    List<Statement> body = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      body.add(tree.store(out, constant(i), index()));
    }
    return tree.build(body);
  }

  /** A mapped file comes at a launch, too late to refuse the kernel. */
  @Test
  void aKernelThatFitsRunsOverMemoryOfOthersToo() {
    JvmKernel kernel = JvmKernel.compile(stores(2600));
    MemorySegment out = MemorySegment.ofArray(new int[2600]);
    kernel.run(false, new MemorySegment[] {out}, new Object[1], LaunchRange.of(3), 0, 3);
    assertThat(out.toArray(ValueLayout.JAVA_INT)).containsOnly(2);
  }

  @Test
  void aKernelThatIsTooLongIsRefusedByName() {
    assertThatThrownBy(() -> JvmKernel.compile(stores(4000)))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("test.Kernels.kernel is too long");
  }
}
