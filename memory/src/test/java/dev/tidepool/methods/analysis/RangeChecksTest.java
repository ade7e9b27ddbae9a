package dev.tidepool.methods.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.WorkItem;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.jvm.JvmKernel;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Site;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Walk;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@SuppressWarnings("unused")
class RangeChecksTest {
  private static KernelTree read(String method) {
    return MethodReader.read(KernelSource.method(MethodHandles.lookup(), method));
  }

  /** How many accesses have a test of their own if the test in front holds; -1 if there is none. */
  private static int testsBehind(String method) {
    KernelTree tree = read(method);
    KernelTree hoisted = RangeChecks.hoisted(tree);
    if (hoisted.body().equals(tree.body())) {
      return -1;
    }
    Statement.If either = (Statement.If) hoisted.body().getFirst();
    assertThat(hoisted.body()).hasSize(1);
    assertThat(either.otherwise()).isEqualTo(tree.body());
    List<Site> tested = new ArrayList<>();
    Walk.statements(
        either.then(),
        statement -> {
          @Nullable Site site =
              switch (statement) {
                case Statement.Load load -> load.site();
                case Statement.Store store -> store.site();
                default -> null;
              };
          if (site != null) {
            tested.add(site);
          }
        });
    return tested.size();
  }

  private static void plain(int i, float a, float[] x, float[] y) {
    y[i] = a * x[i] + y[i];
  }

  private static void pairs(WorkItem item, int[] x, int[] y) {
    int i = (int) (item.globalId(0) * 2) + 1;
    y[i] = x[i - 1];
  }

  private static void transposed(WorkItem item, int width, int height, int[] x, int[] y) {
    int column = (int) item.globalId(0);
    int row = (int) item.globalId(1);
    y[column * height + row] = x[row * width + column];
  }

  private static void gathered(int i, int[] indices, int[] x, int[] y) {
    y[i] = x[indices[i]];
  }

  private static void sometimes(int i, int[] x, int[] y) {
    y[i] = 0;
    if (x[i] > 3) {
      y[i + 1] = x[i];
    }
  }

  private static void afterReturn(int i, int n, int[] x, int[] y) {
    if (i >= n) {
      return;
    }
    y[i] = x[i];
  }

  private static void product(WorkItem item, int[] x) {
    x[(int) (item.globalId(0) * item.globalId(1))] = 1;
  }

  private static void ofGroup(WorkItem item, int[] x) {
    x[(int) item.groupId(0)] = 1;
  }

  private static void scores(int row, int dims, float[] rows, float[] query, float[] scores) {
    float sum = 0;
    for (int d = 0; d < dims; d++) {
      sum += rows[row * dims + d] * query[d];
    }
    scores[row] = sum;
  }

  private static void nested(int i, int n, int[] x, int[] y) {
    int sum = 0;
    for (int j = n - 1; j >= 0; j--) {
      for (int k = 0; k < 8; k += 2) {
        sum += x[i + 8 * j + k];
      }
    }
    y[i] = sum;
  }

  private static void upToItself(int i, int[] x, int[] y) {
    int sum = 0;
    for (int k = 0; k <= i; k++) {
      sum += x[k];
    }
    y[i] = sum;
  }

  /** Where the index is changed in a block that some items leave before. */
  @SuppressWarnings("LabelledBreakTarget")
  private static void skipped(int i, int[] x) {
    int at = i;
    block:
    {
      if (i > 5) {
        break block;
      }
      at = at + 1;
    }
    x[at] = 1;
  }

  private static void changedInLoop(int i, int n, int[] x) {
    int at = 0;
    for (int k = 0; k < n; k++) {
      x[i + at] = k;
      at += k;
    }
  }

  private static void doubled(int i, int[] x) {
    int a = i + i;
    int b = a + a;
    int c = b + b;
    int d = c + c;
    int e = d + d;
    int f = e + e;
    int g = f + f;
    x[g] = 1;
  }

  private static void down(int i, int n, int[] x) {
    for (int j = n - 1; j >= 0; j--) {
      x[j] += 1;
    }
  }

  private static void downTo(int i, int n, int[] x) {
    for (int j = 9; j > n; j--) {
      x[j] += j;
    }
  }

  private static void downByThree(int i, int n, int[] x) {
    for (int j = 11; j >= n; j -= 3) {
      x[j - 1] += j;
    }
  }

  private static void upByThree(int i, int n, int[] x) {
    for (int j = -1; j <= n; j += 3) {
      x[j + 1] += j;
    }
  }

  private static void reversed(int i, int n, int[] x) {
    for (int j = 0; j < n; j++) {
      x[9 - j] += j;
    }
  }

  private static void reversedDown(int i, int n, int[] x) {
    for (int j = n; j >= 1; j--) {
      x[n - j] += j;
    }
  }

  private static void times(int i, int n, int[] x) {
    for (int j = 4; j >= 2; j--) {
      x[j * n] += j;
    }
  }

  private static void downInUp(int i, int n, int[] x) {
    for (int j = 0; j < 3; j++) {
      for (int k = n; k >= -1; k--) {
        x[i + 3 * j + k + 1] += 1;
      }
    }
  }

  private static void upInDown(int i, int n, int[] x) {
    for (int j = n; j >= 0; j -= 2) {
      for (int k = 0; k < 2; k++) {
        x[j + k] += 1;
      }
    }
  }

  private static void products(int i, int n, int[] x) {
    for (int a = 0; a < n; a++) {
      for (int b = 0; b < n; b++) {
        for (int c = 0; c < n; c++) {
          x[a * Integer.MAX_VALUE + b * Integer.MAX_VALUE + c * Integer.MAX_VALUE] += 1;
        }
      }
    }
  }

  private static void boundChanges(int i, int n, int[] x) {
    int end = 0;
    for (int j = 5; j >= end; j--) {
      x[j] += 1;
      end = n;
    }
  }

  /** What a kernel leaves in an array of ten elements, and what it throws. */
  private static String outcome(KernelTree tree, int n) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment x = arena.allocate(ValueLayout.JAVA_INT, 10);
      LaunchRange range = LaunchRange.of(2);
      String thrown = "";
      try {
        JvmKernel.compile(tree)
            .run(false, new MemorySegment[] {null, x}, new Object[] {n, null}, range, 0, 1);
      } catch (RuntimeException e) {
        thrown = e + " at " + e.getStackTrace()[0];
      }
      return Arrays.toString(x.toArray(ValueLayout.JAVA_INT)) + thrown;
    }
  }

  /** If the test in front held wrongly, the virtual machine would throw another exception. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "down",
        "downTo",
        "downByThree",
        "upByThree",
        "reversed",
        "reversedDown",
        "times",
        "downInUp",
        "upInDown",
        "products"
      })
  void behindTheTestAKernelDoesWhatItDidBefore(String method) {
    KernelTree tree = read(method);
    assertThat(testsBehind(method)).isZero();
    KernelTree hoisted = RangeChecks.hoisted(tree);
    IntStream bounds = IntStream.rangeClosed(-15, 15);
    IntStream ends =
        IntStream.of(Integer.MIN_VALUE, Integer.MIN_VALUE + 1, 1 << 30, Integer.MAX_VALUE);
    IntStream.concat(bounds, ends)
        .forEach(n -> assertThat(outcome(hoisted, n)).as("n = %d", n).isEqualTo(outcome(tree, n)));
  }

  @Test
  void aLoopThatChangesItsBoundKeepsItsTests() {
    assertThat(testsBehind("boundChanges")).isEqualTo(-1);
  }

  @Test
  void accessesOfEveryItemAtEvenIndicesHaveOneTest() {
    assertThat(testsBehind("plain")).isZero();
    assertThat(testsBehind("pairs")).isZero();
    assertThat(testsBehind("transposed")).isZero();
  }

  @Test
  void accessesOfCountedLoopsAreInTheSameTest() {
    assertThat(testsBehind("scores")).isZero();
    assertThat(testsBehind("nested")).isZero();
  }

  @Test
  void whatDependsOnDataOrOnlySomeItemsDoKeepsItsTest() {
    assertThat(testsBehind("gathered")).isEqualTo(1);
    assertThat(testsBehind("sometimes")).isEqualTo(2);
  }

  @Test
  void otherKernelsStayAsTheyAre() {
    assertThat(testsBehind("product")).isEqualTo(-1);
    assertThat(testsBehind("ofGroup")).isEqualTo(-1);
    assertThat(testsBehind("upToItself")).isEqualTo(-1);
    assertThat(testsBehind("changedInLoop")).isEqualTo(-1);
    assertThat(testsBehind("skipped")).isEqualTo(-1);
    assertThat(testsBehind("doubled")).isEqualTo(-1);
  }

  @Test
  void itemsThatReturnEarlyDoNotMatter() {
    // The test may fail where the kernel would not; then it runs as it was.
    assertThat(testsBehind("afterReturn")).isZero();
  }
}
