package dev.tidepool.methods.jvm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.KernelSource;
import dev.tidepool.LaunchRange;
import dev.tidepool.methods.analysis.PrivateArrays;
import dev.tidepool.methods.analysis.ShortLoops;
import dev.tidepool.methods.bytecode.MethodReader;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.Walk;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Loops that are written out compute what Java computes, and fail where it does. */
class JvmShortLoopsTest {
  private static final int ITEMS = 40;
  private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

  /** Kernels, as Java. */
  @SuppressWarnings("unused")
  private static final class Kernels {
    static void neighbours(int i, int r, int[] x, int[] y) {
      int sum = 0;
      int n = 0;
      for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
          int column = i % 8 + dx;
          int row = i / 8 + dy;
          if (column >= 0 && column < 8 && row >= 0 && row < 5) {
            sum += x[row * 8 + column];
            n++;
          }
        }
      }
      y[i] = sum * 100 + n;
    }

    static void clampedIndices(int i, int r, int[] x, int[] y) {
      int sum = 0;
      for (int d = -2; d <= 2; d++) {
        sum = 3 * sum + x[Math.max(0, Math.min(x.length - 1, i + d))];
      }
      y[i] = sum;
    }

    static void leftInTheMiddle(int i, int r, int[] x, int[] y) {
      int sum = 0;
      int k;
      for (k = 0; k < 6; k++) {
        if (x[(i + k) % x.length] % 4 == 1) {
          break;
        }
        sum += k * x[i];
      }
      y[i] = sum * 10 + k;
    }

    static void downwardsByTwo(int i, int r, int[] x, int[] y) {
      for (int k = 7; k > 0; k -= 2) {
        if ((x[i] & k) == 0) {
          continue;
        }
        y[i] = y[i] * 3 + k;
      }
    }

    static void outOfBoth(int i, int r, int[] x, int[] y) {
      outer:
      for (int k = 0; k < 3; k++) {
        for (int m = 0; m < 4; m++) {
          int value = x[(i + k * m) % x.length];
          if (value % 5 == 0) {
            continue outer;
          }
          if (value % 7 == 0) {
            break outer;
          }
          y[i] += k * 10 + m;
        }
        y[i] *= 2;
      }
    }

    static void returned(int i, int r, int[] x, int[] y) {
      for (int k = 0; k < 4; k++) {
        if (x[i] % 4 == k) {
          y[i] = k;
          return;
        }
        y[i] -= k;
      }
      y[i] = -100;
    }

    static void neverBegun(int i, int r, int[] x, int[] y) {
      int k;
      for (k = 3; k < 3; k++) {
        if (x[i] > 0) {
          y[i] = 99;
        }
      }
      y[i] += k;
    }

    static void byScalar(int i, int r, int[] x, int[] y) {
      for (int d = -r; d <= r; d++) {
        if (i + d >= 0 && i + d < x.length) {
          y[i] = y[i] * 2 + x[i + d];
        }
      }
    }

    static void evenIndices(int i, int r, int[] x, int[] y) {
      for (int k = 0; k < 3; k++) {
        y[i] += x[i + k - i];
      }
    }

    static void manyRounds(int i, int r, int[] x, int[] y) {
      for (int k = 0; k < 9; k++) {
        if (x[(i + k) % x.length] > 50) {
          y[i] += k;
        }
      }
    }

    static void setInside(int i, int r, int[] x, int[] y) {
      for (int k = 0; k < 6; k++) {
        if (x[i] % 3 == 0) {
          k++;
        }
        y[i] += k;
      }
    }

    static void ownSums(int i, int r, int[] x, int[] y) {
      int[] own = new int[4];
      for (int k = 0; k < 4; k++) {
        own[k] += x[(i + k) % x.length];
      }
      for (int k = 0; k < 3; k++) {
        own[k + 1] += own[k] * r;
      }
      for (int k = 0; k < 4; k++) {
        y[i] = y[i] * 3 + own[k];
      }
    }

    static void ownSmallNumbers(int i, int r, int[] x, int[] y) {
      byte[] bytes = new byte[2];
      short[] shorts = new short[1];
      boolean[] truths = new boolean[2];
      for (int k = 0; k < 2; k++) {
        bytes[k] = (byte) (x[i] * 77);
        shorts[0] += (short) (bytes[k] * 999);
        truths[k] = (x[i] + k) % 2 == r;
      }
      y[i] = bytes[0] + shorts[0] + (truths[1] ? 1 : 0);
    }

    static void ownOfEachRound(int i, int r, int[] x, int[] y) {
      for (int round = 0; round < x[i]; round++) {
        int[] own = new int[2];
        own[round & 1 & r] = round;
        int[] fresh = new int[1];
        fresh[0] += round;
        y[i] += own[0] * 7 + fresh[0];
      }
    }

    static void ownOutside(int i, int r, int[] x, int[] y) {
      int[] own = new int[2];
      for (int k = 0; k < 3; k++) {
        own[k] = x[i];
      }
      y[i] = own[1];
    }

    static void outside(int i, int r, int[] x, int[] y) {
      for (int d = -1; d <= 1; d++) {
        if (d != 0) {
          y[i] += x[i + d];
        }
      }
    }
  }

  private static KernelTree tree(String method) throws IllegalAccessException {
    return MethodReader.read(
        KernelSource.method(MethodHandles.privateLookupIn(Kernels.class, LOOKUP), method));
  }

  @ParameterizedTest
  @CsvSource({
    "neighbours, 2",
    "clampedIndices, 1",
    "leftInTheMiddle, 1",
    "downwardsByTwo, 1",
    "outOfBoth, 2",
    "returned, 1",
    "neverBegun, 1",
    "byScalar, 0",
    "evenIndices, 1",
    "manyRounds, 0",
    "setInside, 0",
    "ownSums, 3",
    "ownSmallNumbers, 1",
    "ownOfEachRound, 0"
  })
  void equalsJava(String method, int writtenOut) throws ReflectiveOperationException {
    Method plain =
        Kernels.class.getDeclaredMethod(method, int.class, int.class, int[].class, int[].class);
    int[] x = new Random(7).ints(ITEMS, 0, 100).toArray();
    JvmKernel kernel = JvmKernel.compile(tree(method));
    if (writtenOut == 0) {
      assertThat(kernel.description()).doesNotContain("written out");
    } else {
      assertThat(kernel.description())
          .contains(writtenOut + (writtenOut == 1 ? " loop" : " loops") + " written out");
    }
    // The first value is a constant in code that later launches with others must not use.
    for (int r : new int[] {1, 1, 2, 0, 5}) {
      int[] expected = new int[ITEMS];
      Arrays.fill(expected, r);
      int[] found = expected.clone();
      for (int i = 0; i < ITEMS; i++) {
        plain.invoke(null, i, r, x, expected);
      }
      Run.all(kernel, LaunchRange.of(ITEMS), r, x.clone(), found);
      assertThat(found).as("%s with %s", method, r).isEqualTo(expected);
    }
  }

  @Test
  void ownArraysWithKnownIndicesAreVariables() throws IllegalAccessException {
    assertThat(privateArrays("ownSums")).isEmpty();
    assertThat(privateArrays("ownSmallNumbers")).isEmpty();
    assertThat(privateArrays("ownOfEachRound"))
        .extracting(KernelArray::name)
        .containsOnly("new int[2]");
    assertThat(privateArrays("ownOutside"))
        .extracting(KernelArray::name)
        .containsOnly("new int[2]");
  }

  private static List<KernelArray> privateArrays(String method) throws IllegalAccessException {
    KernelTree tree = tree(method);
    List<Statement> body = new ShortLoops(tree.labels()).writtenOut(tree.body());
    PrivateArrays arrays = new PrivateArrays(tree.variables());
    arrays.note(body);
    List<KernelArray> found = new ArrayList<>();
    Walk.statements(
        arrays.replaced(body),
        part -> {
          if (Walk.array(part) instanceof KernelArray.Private array) {
            found.add(array);
          }
        });
    return found;
  }

  @Test
  void anIndexOutsideOfAnOwnArrayIsTold() throws IllegalAccessException {
    JvmKernel kernel = JvmKernel.compile(tree("ownOutside"));
    assertThatThrownBy(
            () -> Run.all(kernel, LaunchRange.of(ITEMS), 0, new int[ITEMS], new int[ITEMS]))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class)
        .hasMessage("Index 2 out of bounds for length 2 of 'new int[2]'");
  }

  @Test
  void anIndexOutsideIsToldWithItsLine() throws IllegalAccessException {
    JvmKernel kernel = JvmKernel.compile(tree("outside"));
    int[] y = new int[ITEMS];
    assertThat(kernel.description()).contains("1 loop written out");
    assertThatThrownBy(() -> Run.all(kernel, LaunchRange.of(ITEMS), 0, new int[ITEMS].clone(), y))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class)
        .hasMessageContaining("Index -1 out of bounds for length " + ITEMS)
        .satisfies(
            fault -> assertThat(fault.getStackTrace()[0].getMethodName()).isEqualTo("outside"));
  }
}
