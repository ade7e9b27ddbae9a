package dev.tidepool.methods.bytecode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelMethod;
import dev.tidepool.KernelParameter.Access;
import dev.tidepool.KernelSource;
import dev.tidepool.WorkItem;
import dev.tidepool.methods.analysis.ArrayAccesses;
import dev.tidepool.methods.analysis.KernelMemory;
import dev.tidepool.methods.analysis.LoopChecks;
import dev.tidepool.methods.analysis.MethodParameters;
import dev.tidepool.methods.analysis.Races;
import dev.tidepool.methods.analysis.RangeChecks;
import dev.tidepool.methods.analysis.Uniformity;
import dev.tidepool.methods.tree.Faults;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Site;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Walk;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/** What a method may hold, what is found in it, and what is said about the rest. */
class MethodReaderTest {
  private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

  private static KernelTree read(String method) {
    return MethodReader.read(KernelSource.method(LOOKUP, method));
  }

  // What kernels cannot have

  /** Methods that are refused, by what the message says of each. */
  @SuppressWarnings("unused")
  private static final class Refused {
    static int counter;
    static final IntUnaryOperator FIELD = x -> x;

    static void lambda(int i, int[] x) {
      IntUnaryOperator twice = value -> 2 * value;
      x[i] = twice.applyAsInt(x[i]);
    }

    enum Mode {
      ONE,
      TWO
    }

    static final Mode MODE = Mode.valueOf("TWO");
    static final int[] TABLE = {1, 2};

    static void enums(int i, int[] x) {
      switch (MODE) {
        case ONE -> x[i] = 1;
        case TWO -> x[i] = 2;
      }
    }

    static void table(int i, int[] x) {
      x[i] = TABLE[i & 1];
    }

    static void patterns(int i, int[] x) {
      Object any = x;
      x[i] =
          switch (any) {
            case int[] y -> y.length;
            default -> 0;
          };
    }

    static void string(int i, int[] x) {
      x[i] = "abc".length();
    }

    static final Integer BOX = counter;

    record Pair(int first, int second) {}

    static void boxed(int i, int[] x) {
      Integer box = i;
      x[i] = box + 1;
    }

    static void constantBox(int i, int[] x) {
      x[i] = BOX;
    }

    static void nothing(int i, int[] x) {
      int[] y = null;
      if (i > 0) {
        y = x;
      }
      y[i] = 1;
    }

    static void taken(int i, int[] x) {
      if ((Object) new Pair(i, 2) instanceof Pair(int first, int second)) {
        x[i] = first + second;
      }
    }

    static int twenty(int x) {
      return fifteen(x) + fifteen(x + 1) + fifteen(x + 2) + fifteen(x + 3) + fifteen(x + 4);
    }

    static int fifteen(int x) {
      return ten(x) + ten(x + 1) + ten(x + 2) + ten(x + 3) + ten(x + 4) + ten(x + 5) + ten(x + 6);
    }

    static int ten(int x) {
      return five(x) + five(x + 1) + five(x + 2) + five(x + 3) + five(x + 4) + five(x + 5);
    }

    static int five(int x) {
      return one(x) + one(x + 1) + one(x + 2) + one(x + 3) + one(x + 4) + one(x + 5) + one(x + 6);
    }

    static int one(int x) {
      return x * x + 3 * x + 7;
    }

    static void endless(int i, int[] x) {
      x[i] = twenty(i) + twenty(i + 1);
    }

    static void thrown(int i, int[] x) {
      if (x[i] < 0) {
        throw new IllegalArgumentException("negative");
      }
    }

    static void caught(int i, int[] x) {
      try {
        x[i] = 1 / x[i];
      } catch (ArithmeticException e) {
        x[i] = 0;
      }
    }

    static void recursive(int i, int[] x) {
      x[i] = factorial(x[i]);
    }

    private static int factorial(int n) {
      return n < 2 ? 1 : n * factorial(n - 1);
    }

    static void field(int i, int[] x) {
      x[i] = counter;
    }

    static void storedField(int i, int[] x) {
      counter = i;
    }

    static void object(int i, int[] x) {
      x[i] = FIELD.applyAsInt(x[i]);
    }

    static void printed(int i, int[] x) {
      System.out.println(x[i]);
    }

    static void created(int i, int[] x) {
      x[i] = new Object().hashCode();
    }

    static void lengthOfItsOwn(int i, int n, int[] x) {
      int[] own = new int[n];
      x[i] = own[0];
    }

    static void characters(int i, int[] x) {
      char[] own = new char[4];
      x[i] = own[0];
    }

    static void rows(int i, int[] x) {
      int[][] own = new int[2][2];
      x[i] = own[0][0];
    }

    static void either(int i, int[] x, int[] y) {
      int[] one = i > 3 ? x : y;
      one[i] = 1;
    }

    static void dimension(WorkItem item, int d, int[] x) {
      x[0] = (int) item.globalId(d);
    }

    static void bodyOfAnotherKind(WorkItem item, int[] x) {
      x[0] = (int) item.integer(0);
    }

    static void asserted(int i, int[] x) {
      assert x[i] > 0;
      x[i]--;
    }

    static void concatenated(int i, int[] x) {
      x[i] = ("x" + i).length();
    }

    static void random(int i, double[] x) {
      x[i] = Math.random();
    }

    static void nested(int i, float[][] x) {
      x[i][i] = 0;
    }

    static void text(int i, String x) {}

    static void virtual(int i, int[] x) {
      int[] own = x.clone();
      x[i] = own[0];
    }

    static void monitor(int i, int[] x) {
      synchronized (x) {
        x[i]++;
      }
    }

    static synchronized void lock(int i, int[] x) {
      x[0]++;
    }

    static void callsLock(int i, int[] x) {
      lock(i, x);
    }

    static void mutual(int i, int[] x) {
      x[i] = even(x[i]) ? 1 : 0;
    }

    private static boolean even(int n) {
      return n == 0 || odd(n - 1);
    }

    private static boolean odd(int n) {
      return n != 0 && even(n - 1);
    }

    static void cast(int i, int[] x) {
      Object any = x;
      ((int[]) any)[i] = 1;
    }

    static void tested(int i, int[] x) {
      Object any = x;
      x[i] = any instanceof float[] ? 1 : 0;
    }
  }

  /** Methods that are refused by a line that is not their first, and the line above each. */
  @SuppressWarnings("unused")
  private static final class RefusedLater {
    static final int ABOVE_TRIED = new Throwable().getStackTrace()[0].getLineNumber();

    static void tried(int i, int[] x) {
      x[i] = 1;
      try {
        x[i] = 2;
      } finally {
        x[i] = 3;
      }
    }

    static final int ABOVE_LOCKED = new Throwable().getStackTrace()[0].getLineNumber();

    static void locked(int i, int[] x) {
      x[i] = 1;
      synchronized (x) {
        x[i] = 2;
      }
    }
  }

  @Test
  void whatIsRefusedHasTheLineWhereItBegins() throws Exception {
    MethodHandles.Lookup inside = MethodHandles.privateLookupIn(RefusedLater.class, LOOKUP);
    assertThatThrownBy(() -> MethodReader.read(KernelSource.method(inside, "tried")))
        .hasMessageContaining("line " + (RefusedLater.ABOVE_TRIED + 5) + ": try");
    assertThatThrownBy(() -> MethodReader.read(KernelSource.method(inside, "locked")))
        .hasMessageContaining("line " + (RefusedLater.ABOVE_LOCKED + 4) + ": synchronized");
  }

  private static void refused(String method, String... parts) {
    KernelSource.Method source;
    try {
      source = KernelSource.method(MethodHandles.privateLookupIn(Refused.class, LOOKUP), method);
    } catch (IllegalAccessException e) {
      throw new AssertionError("it is nested here", e);
    }
    assertThatThrownBy(() -> MethodReader.read(source))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("Refused.")
        .hasMessageContainingAll(parts);
  }

  @TestFactory
  List<DynamicTest> aConstructThatNoKernelHasIsNamedWithItsLineAndARemedy() {
    List<DynamicTest> tests = new ArrayList<>();
    String[][] expected = {
      {"lambda", "line ", "a lambda or method reference", "statements over numbers"},
      {"enums", "line ", " enum", " int"},
      {"table", "TABLE", "no primitive", "pass the array as a parameter"},
      {"patterns", "line ", "a switch over patterns or objects", "statements over numbers"},
      {"concatenated", "line ", "a joined string", "statements over numbers"},
      {"random", "Refused.random", "line ", "the call of Math.random", "write what it does"},
      {"string", "line ", "a string", "use numbers"},
      {"boxed", "line ", ": a boxed value", "int in place of Integer"},
      {"constantBox", "line ", ": a boxed value", "int in place of Integer"},
      {"nothing", "line ", ": null", "use numbers and arrays"},
      {"taken", "line ", ": a pattern of a record", "use numbers and arrays"},
      {"endless", "Refused.endless has, with the methods that it calls, more than 20000"},
      {"thrown", "line ", "new ", "write an error value to an array"},
      {"caught", "line ", "try", "check before"},
      {"recursive", "line ", "the recursive call of", "factorial", "write it as a loop"},
      {"field", "counter", "not final", "as a parameter"},
      {"storedField", "line ", "counter, which is assigned", "an array that is a parameter"},
      {"object", "FIELD", "no primitive"},
      {"printed", "System.out", "print them after the launch"},
      {"created", "new Object", "local variables"},
      {"lengthOfItsOwn", "length is no constant", "static final"},
      {"characters", "char", "short[]"},
      {"rows", "array of objects or of arrays", "row * columns"},
      {"either", "one of two arrays", "once for each array"},
      {"dimension", "constant 0, 1 or 2"},
      {"bodyOfAnotherKind", "WorkItem.integer", "as parameters"},
      {"asserted", "assert", "before the launch"},
      {"nested", "Refused.nested, line ", "'x'", "float[][]", "one-dimensional arrays"},
      {"text", "Refused.text, line ", "'x'", "String"},
      {
        "virtual",
        "line ",
        "the call of int[].clone, which is no static method, cannot",
        "call static methods"
      },
      {"monitor", "line ", "synchronized", "atomic operations of WorkItem"},
      {"lock", "line ", "synchronized", "atomic operations of WorkItem"},
      {"callsLock", "Refused.lock", "synchronized", "atomic operations of WorkItem"},
      {"mutual", "line ", "the recursive call of", "even", "write it as a loop"},
      {"cast", "line ", "a cast or test of an object's type", "use numbers and arrays"},
      {"tested", "line ", "a cast or test of an object's type", "use numbers and arrays"},
    };
    for (String[] one : expected) {
      String[] parts = Arrays.copyOfRange(one, 1, one.length);
      tests.add(DynamicTest.dynamicTest(one[0], () -> refused(one[0], parts)));
    }
    return tests;
  }

  // Which method is meant

  @SuppressWarnings("unused")
  private static final class Named {
    static void twice(int i, int[] x) {}

    static void twice(int i, float[] x) {}

    private static void hidden(int i, float[] x) {}

    static int valued(int i) {
      return i;
    }

    void bound(int i) {}
  }

  @Test
  void aNameIsOneStaticMethodThatTheLookupSees() throws Exception {
    MethodHandles.Lookup inside = MethodHandles.privateLookupIn(Named.class, LOOKUP);
    assertThatThrownBy(() -> KernelSource.method(inside, "missing"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("declares no method missing")
        .hasMessageContaining("twice");
    assertThatThrownBy(() -> KernelSource.method(MethodHandles.publicLookup(), "twice"))
        .hasMessageContaining(
            "Name the class that declares the kernel, or pass its MethodHandles.lookup()");
    assertThatThrownBy(() -> KernelSource.method(inside, "twice"))
        .hasMessageContaining("several methods twice")
        .hasMessageContaining("(int,float[])void");
    assertThat(
            KernelSource.method(
                    inside, "twice", MethodType.methodType(void.class, int.class, float[].class))
                .type()
                .parameterType(1))
        .isEqualTo(float[].class);
    assertThatThrownBy(() -> KernelSource.method(inside, "valued"))
        .hasMessageContaining("no static void method");
    assertThatThrownBy(() -> KernelSource.method(inside, "bound"))
        .hasMessageContaining("no static void method");
    assertThatThrownBy(
            () -> KernelSource.method(MethodHandles.publicLookup().in(Named.class), "hidden"))
        .hasMessageContaining("cannot be accessed")
        .hasMessageContaining("MethodHandles.lookup()");
    assertThatThrownBy(() -> KernelSource.method(Named.class, "hidden"))
        .hasMessageContaining("not public");
    assertThatThrownBy(() -> KernelSource.methods(Named.class))
        .hasMessageContaining("no method with @KernelMethod");
  }

  /** Kernels that are found by their annotation. */
  @SuppressWarnings("unused")
  private static final class Annotated {
    @KernelMethod
    static void first(int i, int[] x) {}

    @KernelMethod
    private static void second(int i, int[] x) {}

    static void other(int i, int[] x) {}
  }

  @Test
  void annotatedMethodsOfAClassAreItsKernels() {
    assertThat(KernelSource.methods(Annotated.class)).containsOnlyKeys("first", "second");
    assertThat(KernelSource.methods(Annotated.class).get("first"))
        .isEqualTo(KernelSource.methods(Annotated.class).get("first"))
        .isNotEqualTo(KernelSource.methods(Annotated.class).get("first").unchecked());
  }

  // What is found

  @SuppressWarnings("unused")
  private static void written(int i, int n, int[] in, int[] out, int[] part, int[] sum) {
    int value = in[i];
    if (value > n) {
      part[i] = value;
    }
    sum[i] += value;
    out[i] = value * 2;
  }

  @SuppressWarnings("unused")
  private static void returnsEarly(int i, int[] in, int[] out, int[] late) {
    if (in[i] < 0) {
      out[i] = 0;
      return;
    }
    out[i] = in[i];
    late[i] = 1;
  }

  @SuppressWarnings("unused")
  private static void elsewhere(WorkItem item, int[] out, int[] shifted, int[] rows) {
    int i = (int) item.globalId(0);
    out[i] = 1;
    shifted[i + 1] = 1;
    rows[(int) item.globalId(1)] = 1;
  }

  @SuppressWarnings("unused")
  private static void guarded(WorkItem item, int[] in, int[] out, int[] late, int[] other) {
    if (item.globalId(0) >= out.length) {
      return;
    }
    int i = (int) item.globalId(0);
    out[i] = 1;
    if (late.length > i) {
      late[i] = 2;
    }
    if (i < in.length) {
      other[i] = 3;
    }
  }

  @SuppressWarnings("unused")
  private static void chosen(int i, int[] in, int[] out) {
    out[i] = in[i] > 0 ? in[i] : in[0] > 0 ? 1 : 2;
  }

  private static List<Boolean> outs(String method) {
    KernelTree tree = read(method);
    ArrayAccesses accesses = ArrayAccesses.of(tree);
    List<Boolean> outs = new ArrayList<>();
    for (int i = 0; i < tree.parameters().size(); i++) {
      outs.add(accesses.isOut(i));
    }
    return outs;
  }

  @Test
  void accessesAreFoundInTheBody() {
    KernelTree tree = read("written");
    assertThat(MethodParameters.of(tree, ArrayAccesses.of(tree)))
        .extracting(parameter -> parameter.name() + " " + parameter.access())
        .containsExactly(
            "n " + Access.SCALAR,
            "in " + Access.IN,
            "out " + Access.INOUT,
            "part " + Access.INOUT,
            "sum " + Access.INOUT);
    assertThat(outs("written")).containsExactly(false, false, true, false, false);
    assertThat(outs("returnsEarly")).containsExactly(false, true, false);
    assertThat(outs("chosen")).containsExactly(false, true);
    assertThat(outs("guarded")).containsExactly(false, true, false, false);
    assertThat(outs("elsewhere")).containsExactly(true, false, false);
  }

  @SuppressWarnings("unused")
  private static void stepped(int i, int n, float[] x, float[] y) {
    float sum = 0;
    for (int k = 0; k < n; k++) {
      if (x[k] < 0) {
        continue;
      }
      sum += x[k];
    }
    y[i] = sum;
  }

  @Test
  void aForLoopBeginsWithItsConditionAndEndsWithItsStep() {
    List<Statement> body = read("stepped").body();
    Statement.Loop loop =
        (Statement.Loop)
            body.stream().filter(Statement.Loop.class::isInstance).findFirst().orElseThrow();
    assertThat(loop.body().getFirst())
        .isInstanceOfSatisfying(
            Statement.If.class,
            branch -> assertThat(branch.then()).containsExactly(new Statement.Break(loop.label())));
    assertThat(loop.body().getLast()).isInstanceOf(Statement.Assign.class);
    Walk.statements(
        loop.body(), statement -> assertThat(statement).isNotInstanceOf(Statement.Continue.class));
  }

  @SuppressWarnings("unused")
  private static void loopInCondition(int i, int n, float[] x, float[] y) {
    y[i] = 0;
    if (n > 3) {
      for (int k = 0; k < n; k++) {
        y[i] += x[k];
      }
    }
    y[i]++;
  }

  @Test
  void aLoopAtTheEndOfAConditionIsLeftByItsOwnJump() {
    assertThat(Walk.any(read("loopInCondition").body(), Statement.Block.class::isInstance))
        .isFalse();
  }

  @SuppressWarnings("unused")
  private static void ofItsOwn(int i, int[] x, int[] pairs) {
    x[i] = x[i] + (x[i] > 3 ? 1 : 2);
    int first = pairs[2 * i];
    pairs[2 * i] = pairs[2 * i + 1];
    pairs[2 * i + 1] = first;
  }

  @SuppressWarnings("unused")
  private static void addedToItsOwn(int i, int[] pairs, int[] y) {
    pairs[2 * i] += 3;
    y[i] = pairs[2 * i];
  }

  @SuppressWarnings("unused")
  private static void addedInTurn(int i, int[] x, int[] y) {
    for (int k = 0; k < 3; k++) {
      x[i + k] += 1;
      y[i] = x[i];
    }
  }

  @SuppressWarnings("unused")
  private static void ofOthers(int i, int[] x, int[] values, int[] counts) {
    x[i + 1] = x[i];
    counts[values[i]]++;
  }

  /** Java's compiler gives {@code step} and {@code own} one slot, and {@code own} the item's id. */
  @SuppressWarnings("unused")
  private static void slotInTurn(WorkItem item, int[] x) {
    int local = (int) item.localId(0);
    for (int step = 1; step < 8; step *= 2) {
      x[local] += step;
      item.barrier();
    }
    if (x[local] > 3) {
      int own = local + 1;
      x[local] = own;
    }
  }

  /**
   * Like {@link #slotInTurn}, but in an outer loop, where the slot goes back from one variable to
   * the other.
   */
  @SuppressWarnings("unused")
  private static void slotByTurns(WorkItem item, int[] x) {
    int local = (int) item.localId(0);
    for (int round = 0; round < 3; round++) {
      for (int step = 1; step < 8; step *= 2) {
        item.barrier();
      }
      int own = local + round;
      x[local] = own;
    }
  }

  @SuppressWarnings("unused")
  private static void ofTheItem(WorkItem item, int[] x) {
    for (int step = (int) item.localId(0); step < 8; step++) {
      item.barrier();
    }
  }

  @Test
  void variablesThatShareASlotInTurnAreToldApart() {
    assertThatCode(() -> Uniformity.checked(read("slotInTurn"))).doesNotThrowAnyException();
    assertThatCode(() -> Uniformity.checked(read("slotByTurns"))).doesNotThrowAnyException();
    assertThatThrownBy(() -> Uniformity.checked(read("ofTheItem")))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContaining("the barrier at ");
  }

  /** Each value has the one before it three times. */
  @SuppressWarnings("unused")
  private static void atSquares(int i, int[] x) {
    int a0 = i;
    int a1 = a0 * a0 + a0;
    int a2 = a1 * a1 + a1;
    int a3 = a2 * a2 + a2;
    int a4 = a3 * a3 + a3;
    int a5 = a4 * a4 + a4;
    int a6 = a5 * a5 + a5;
    int a7 = a6 * a6 + a6;
    int a8 = a7 * a7 + a7;
    int a9 = a8 * a8 + a8;
    int a10 = a9 * a9 + a9;
    int a11 = a10 * a10 + a10;
    int a12 = a11 * a11 + a11;
    int a13 = a12 * a12 + a12;
    int a14 = a13 * a13 + a13;
    int a15 = a14 * a14 + a14;
    int a16 = a15 * a15 + a15;
    int a17 = a16 * a16 + a16;
    int a18 = a17 * a17 + a17;
    int a19 = a18 * a18 + a18;
    int a20 = a19 * a19 + a19;
    int a21 = a20 * a20 + a20;
    int a22 = a21 * a21 + a21;
    int a23 = a22 * a22 + a22;
    int a24 = a23 * a23 + a23;
    int a25 = a24 * a24 + a24;
    int a26 = a25 * a25 + a25;
    int a27 = a26 * a26 + a26;
    int a28 = a27 * a27 + a27;
    int a29 = a28 * a28 + a28;
    int a30 = a29 * a29 + a29;
    x[(a30 & 0) + i]++;
  }

  /** Each value has the one before it twice. */
  @SuppressWarnings("unused")
  private static void atDoubles(int i, int n, int[] x, int[] sums) {
    int m = n & 1;
    int sum = 0;
    for (int k = 0; k < n; k++) {
      int b0 = k + m;
      int b1 = b0 + b0;
      int b2 = b1 + b1;
      int b3 = b2 + b2;
      int b4 = b3 + b3;
      int b5 = b4 + b4;
      int b6 = b5 + b5;
      int b7 = b6 + b6;
      int b8 = b7 + b7;
      int b9 = b8 + b8;
      int b10 = b9 + b9;
      int b11 = b10 + b10;
      int b12 = b11 + b11;
      int b13 = b12 + b12;
      int b14 = b13 + b13;
      int b15 = b14 + b14;
      int b16 = b15 + b15;
      int b17 = b16 + b16;
      int b18 = b17 + b17;
      int b19 = b18 + b18;
      int b20 = b19 + b19;
      int b21 = b20 + b20;
      int b22 = b21 + b21;
      int b23 = b22 + b22;
      int b24 = b23 + b23;
      int b25 = b24 + b24;
      int b26 = b25 + b25;
      int b27 = b26 + b26;
      int b28 = b27 + b27;
      int b29 = b28 + b28;
      int b30 = b29 + b29;
      int b31 = b30 + b30;
      int b32 = b31 + b31;
      int b33 = b32 + b32;
      int b34 = b33 + b33;
      int b35 = b34 + b34;
      int b36 = b35 + b35;
      int b37 = b36 + b36;
      int b38 = b37 + b37;
      int b39 = b38 + b38;
      int b40 = b39 + b39;
      sum += x[b40];
    }
    sums[i] = sum;
  }

  /** Loops in loops, each of which only some items leave. */
  @SuppressWarnings("unused")
  private static void loopsInLoops(int i, int n, int[] x) {
    for (int k0 = 0; k0 < n; k0++) {
      for (int k1 = 0; k1 < n; k1++) {
        for (int k2 = 0; k2 < n; k2++) {
          for (int k3 = 0; k3 < n; k3++) {
            for (int k4 = 0; k4 < n; k4++) {
              for (int k5 = 0; k5 < n; k5++) {
                for (int k6 = 0; k6 < n; k6++) {
                  for (int k7 = 0; k7 < n; k7++) {
                    for (int k8 = 0; k8 < n; k8++) {
                      for (int k9 = 0; k9 < n; k9++) {
                        for (int k10 = 0; k10 < n; k10++) {
                          for (int k11 = 0; k11 < n; k11++) {
                            for (int k12 = 0; k12 < n; k12++) {
                              for (int k13 = 0; k13 < n; k13++) {
                                for (int k14 = 0; k14 < n; k14++) {
                                  for (int k15 = 0; k15 < n; k15++) {
                                    for (int k16 = 0; k16 < n; k16++) {
                                      for (int k17 = 0; k17 < n; k17++) {
                                        for (int k18 = 0; k18 < n; k18++) {
                                          for (int k19 = 0; k19 < n; k19++) {
                                            for (int k20 = 0; k20 < n; k20++) {
                                              for (int k21 = 0; k21 < n; k21++) {
                                                for (int k22 = 0; k22 < n; k22++) {
                                                  for (int k23 = 0; k23 < n; k23++) {
                                                    for (int k24 = 0; k24 < n; k24++) {
                                                      for (int k25 = 0; k25 < n; k25++) {
                                                        for (int k26 = 0; k26 < n; k26++) {
                                                          for (int k27 = 0; k27 < n; k27++) {
                                                            x[i] += n;
                                                            if (x[i] > 27) {
                                                              break;
                                                            }
                                                          }
                                                          if (x[i] > 26) {
                                                            break;
                                                          }
                                                        }
                                                        if (x[i] > 25) {
                                                          break;
                                                        }
                                                      }
                                                      if (x[i] > 24) {
                                                        break;
                                                      }
                                                    }
                                                    if (x[i] > 23) {
                                                      break;
                                                    }
                                                  }
                                                  if (x[i] > 22) {
                                                    break;
                                                  }
                                                }
                                                if (x[i] > 21) {
                                                  break;
                                                }
                                              }
                                              if (x[i] > 20) {
                                                break;
                                              }
                                            }
                                            if (x[i] > 19) {
                                              break;
                                            }
                                          }
                                          if (x[i] > 18) {
                                            break;
                                          }
                                        }
                                        if (x[i] > 17) {
                                          break;
                                        }
                                      }
                                      if (x[i] > 16) {
                                        break;
                                      }
                                    }
                                    if (x[i] > 15) {
                                      break;
                                    }
                                  }
                                  if (x[i] > 14) {
                                    break;
                                  }
                                }
                                if (x[i] > 13) {
                                  break;
                                }
                              }
                              if (x[i] > 12) {
                                break;
                              }
                            }
                            if (x[i] > 11) {
                              break;
                            }
                          }
                          if (x[i] > 10) {
                            break;
                          }
                        }
                        if (x[i] > 9) {
                          break;
                        }
                      }
                      if (x[i] > 8) {
                        break;
                      }
                    }
                    if (x[i] > 7) {
                      break;
                    }
                  }
                  if (x[i] > 6) {
                    break;
                  }
                }
                if (x[i] > 5) {
                  break;
                }
              }
              if (x[i] > 4) {
                break;
              }
            }
            if (x[i] > 3) {
              break;
            }
          }
          if (x[i] > 2) {
            break;
          }
        }
        if (x[i] > 1) {
          break;
        }
      }
      if (x[i] > 0) {
        break;
      }
    }
  }

  @Test
  @Timeout(60)
  void valuesThatGrowLikePowersAreNotFollowed() {
    assertThat(Races.in(read("atSquares"))).isEmpty();
    KernelTree doubles = read("atDoubles");
    assertThat(LoopChecks.hoisted(RangeChecks.hoisted(doubles)).body()).isEqualTo(doubles.body());
    assertThatCode(() -> Uniformity.checked(read("loopsInLoops"))).doesNotThrowAnyException();
  }

  static void total(int i, float[] x, float[] sum) {
    if (i >= x.length) {
      return;
    }
    sum[0] += x[i];
  }

  static void totalOfRow(int i, int columns, float[] x, float[] sums) {
    sums[i / columns] += x[i];
  }

  static void bins(int i, int[] x, int[] counts) {
    counts[x[i] % counts.length]++;
  }

  static void columns(int i, float[] x, float[] sums) {
    for (int k = 0; k < sums.length; k++) {
      sums[k] += x[i];
    }
  }

  static void totalOfOne(WorkItem item, float[] x, float[] sum) {
    for (int i = 0; i < x.length; i++) {
      sum[0] += x[i];
    }
  }

  static void first(int i, float[] x, float[] sum) {
    if (i != 0) {
      return;
    }
    sum[0] += x[i];
  }

  static void firstOfRow(int i, int columns, float[] x, float[] sums) {
    if (i % columns == 0) {
      sums[i / columns] += x[i];
    }
  }

  static void places(int i, int columns, float[] image) {
    int row = i / columns;
    int column = i % columns;
    image[row * columns + column] *= 2;
  }

  static void allButOne(int i, float[] x, float[] sum) {
    if (i == 3) {
      return;
    }
    sum[0] += x[i];
  }

  static void others(int i, float[] x, float[] sum) {
    if (i == 0) {
      sum[1] = 7;
    } else {
      sum[0] += x[i];
    }
  }

  static void eighths(int i, float[] x, float[] sums) {
    sums[i & 7] += x[i];
  }

  static void remainders(int i, float[] x, float[] sums) {
    sums[i % 8] += x[i];
  }

  static void blocks(int i, float[] x, float[] sums) {
    sums[i >> 3] += x[i];
  }

  static void rows(WorkItem item, int columns, float[] x, float[] sums) {
    int row = (int) item.globalId(1);
    sums[row] += x[row * columns + (int) item.globalId(0)];
  }

  static void firstByOrder(int i, float[] x, float[] sum) {
    if (i > 0) {
      return;
    }
    sum[0] += x[i];
  }

  static void turned(int i, float[] x) {
    x[(i >> 3) + ((i & 7) << 10)] *= 2;
  }

  static void pixels(WorkItem item, int columns, float[] x) {
    x[(int) item.globalId(1) * columns + (int) item.globalId(0)] *= 2;
  }

  static void normalized(int i, int columns, float[] rows) {
    int at = i * columns;
    float sum = 0;
    for (int c = 0; c < columns; c++) {
      sum += rows[at + c];
    }
    for (int d = 0; d < columns; d++) {
      rows[at + d] /= sum;
    }
  }

  static void prefixSums(int i, int columns, float[] rows) {
    for (int c = 1; c < columns; c++) {
      rows[i * columns + c] += rows[i * columns + c - 1];
    }
  }

  static void pairs(int i, float[] x) {
    x[2 * i] += x[2 * i + 1];
  }

  static void nextPairs(int i, float[] x) {
    x[2 * i] += x[2 * i + 2];
  }

  static void eliminated(int i, int columns, int pivot, float[] rows) {
    for (int c = 0; c < columns; c++) {
      rows[i * columns + c] -= rows[pivot * columns + c];
    }
  }

  @Test
  void elementsOfTheItemsOwnRowAreNoRace() {
    assertThat(Races.in(read("normalized"))).isEmpty();
    assertThat(Races.in(read("prefixSums"))).isEmpty();
    assertThat(Races.in(read("pairs"))).isEmpty();
    assertThat(Races.in(read("nextPairs"))).containsExactly("x");
    assertThat(Races.in(read("eliminated"))).containsExactly("rows");
  }

  @Test
  void anElementThatSeveralItemsAddToIsARace() {
    assertThat(Races.in(read("total"))).containsExactly("sum");
    assertThat(Races.in(read("totalOfRow"))).containsExactly("sums");
    assertThat(Races.in(read("bins"))).containsExactly("counts");
    assertThat(Races.in(read("columns"))).containsExactly("sums");
    assertThat(Races.in(read("allButOne"))).containsExactly("sum");
    assertThat(Races.in(read("others"))).containsExactly("sum");
    assertThat(Races.in(read("eighths"))).containsExactly("sums");
    assertThat(Races.in(read("remainders"))).containsExactly("sums");
    assertThat(Races.in(read("blocks"))).containsExactly("sums");
    assertThat(Races.in(read("rows"))).containsExactly("sums");
  }

  @Test
  void anElementThatOneItemAddsToIsNoRace() {
    assertThat(Races.in(read("totalOfOne"))).isEmpty();
    assertThat(Races.in(read("first"))).isEmpty();
    assertThat(Races.in(read("firstOfRow"))).isEmpty();
    assertThat(Races.in(read("places"))).isEmpty();
    assertThat(Races.in(read("firstByOrder"))).isEmpty();
    assertThat(Races.in(read("turned"))).isEmpty();
    assertThat(Races.in(read("pixels"))).isEmpty();
  }

  @Test
  void anArrayWhoseElementsOtherItemsWriteIsARace() {
    assertThat(Races.in(read("ofItsOwn"))).isEmpty();
    assertThat(Races.in(read("addedToItsOwn"))).isEmpty();
    assertThat(Races.in(read("addedInTurn"))).containsExactly("x");
    assertThat(Races.in(read("ofOthers"))).containsExactly("counts", "x");
  }

  private static final int TILE = Integer.getInteger("tidepool.test.unset", 4);

  @SuppressWarnings("unused")
  private static void tiles(WorkItem item, int[] x) {
    int[] own = new int[TILE * 2 + 1];
    int[] shared = item.localInts(TILE * TILE / 2 << 1);
    x[0] = own.length + own[0];
    x[1] = shared.length + shared[0];
  }

  @Test
  void lengthsAreComputedFromConstants() {
    assertThat(KernelMemory.of(read("tiles")).arrays())
        .extracting(KernelArray::name)
        .containsExactlyInAnyOrder("new int[9]", "local ints(16)");
  }

  private static int picked(int[] x, int at) {
    return x[at];
  }

  @SuppressWarnings("unused")
  private static void callsOthers(int i, int[] x, int[] y) {
    x[0] = picked(x, i + 1000);
    y[0] = Math.floorMod(x.length, i);
  }

  @Test
  void sitesNameTheCallsThatLeadToThem() {
    List<Site> sites = read("callsOthers").sites();
    assertThat(sites)
        .extracting(site -> site.frames().stream().map(StackTraceElement::getMethodName).toList())
        .contains(List.of("picked", "callsOthers"), List.of("floorMod", "callsOthers"));
    Site site = sites.stream().filter(one -> one.frames().size() == 2).findFirst().orElseThrow();
    assertThat(Faults.of(site, 1, 1).getStackTrace())
        .startsWith(site.frames().toArray(StackTraceElement[]::new));
  }

  @Test
  void sitesNameTheLineOfEachAccess() {
    KernelTree tree = read("stepped");
    assertThat(tree.sites()).isNotEmpty();
    tree.sites()
        .forEach(
            site -> {
              assertThat(site.frame().getMethodName()).isEqualTo("stepped");
              assertThat(site.frame().getFileName()).isEqualTo("MethodReaderTest.java");
              assertThat(site.frame().getLineNumber()).isPositive();
            });
    assertThat(read("stepped")).isSameAs(tree);
  }
}
