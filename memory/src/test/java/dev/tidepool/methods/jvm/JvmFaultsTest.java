package dev.tidepool.methods.jvm;

import static dev.tidepool.methods.tree.TreeBuilder.add;
import static dev.tidepool.methods.tree.TreeBuilder.constant;
import static dev.tidepool.methods.tree.TreeBuilder.index;
import static dev.tidepool.methods.tree.TreeBuilder.read;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.tidepool.LaunchRange;
import dev.tidepool.methods.tree.ElementKind;
import dev.tidepool.methods.tree.KernelArray;
import dev.tidepool.methods.tree.KernelExpression;
import dev.tidepool.methods.tree.KernelTree;
import dev.tidepool.methods.tree.Statement;
import dev.tidepool.methods.tree.TreeBuilder;
import dev.tidepool.methods.tree.ValueType;
import dev.tidepool.methods.tree.Variable;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What goes wrong in a kernel is an exception that names its source. */
class JvmFaultsTest {
  /** {@code y[i] = x[i + shift]}. */
  private static KernelTree shifted() {
    TreeBuilder tree = new TreeBuilder();
    KernelExpression shift = tree.scalar("shift", ElementKind.INT);
    KernelArray x = tree.array("x", ElementKind.INT);
    KernelArray y = tree.array("y", ElementKind.INT);
    Variable value = tree.variable(ValueType.INT);
    return tree.build(
        tree.load(value, x, add(index(), shift)), tree.store(y, index(), read(value)));
  }

  @ParameterizedTest
  @ValueSource(ints = {5, 1, -1, Integer.MAX_VALUE, Integer.MIN_VALUE})
  void anIndexOutsideNamesIndexLengthArrayAndSource(int shift) {
    Throwable thrown =
        catchThrowable(() -> Run.all(shifted(), LaunchRange.of(5), shift, new int[5], new int[5]));

    int first = shift > 0 ? Math.max(5, shift) : shift;
    assertThat(thrown)
        .isExactlyInstanceOf(ArrayIndexOutOfBoundsException.class)
        .hasMessage("Index " + first + " out of bounds for length 5 of 'x'");
    assertThat(thrown.getStackTrace()[0])
        .isEqualTo(new StackTraceElement("test.Kernels", "kernel", "Kernels.java", 100));
    assertThat(thrown.getStackTrace())
        .anyMatch(frame -> frame.getClassName().equals(JvmFaultsTest.class.getName()));
  }

  @Test
  void aStoreOutsideFails() {
    assertThatThrownBy(() -> Run.all(shifted(), LaunchRange.of(6), 0, new int[6], new int[5]))
        .isExactlyInstanceOf(ArrayIndexOutOfBoundsException.class)
        .hasMessage("Index 5 out of bounds for length 5 of 'y'");
  }

  @Test
  void aDivisionByZeroNamesItsSource() {
    TreeBuilder tree = new TreeBuilder();
    KernelExpression divisor = tree.scalar("divisor", ElementKind.INT);
    KernelArray y = tree.array("y", ElementKind.INT);
    Variable value = tree.variable(ValueType.INT);
    KernelTree kernel =
        tree.build(
            tree.remainder(value, constant(7), divisor), tree.store(y, index(), read(value)));

    Throwable thrown = catchThrowable(() -> Run.all(kernel, LaunchRange.of(1), 0, new int[1]));

    assertThat(thrown).isExactlyInstanceOf(ArithmeticException.class).hasMessage("/ by zero");
    assertThat(thrown.getStackTrace()[0].getLineNumber()).isEqualTo(100);
  }

  @Test
  void aDivisionOfLongsByZeroFails() {
    TreeBuilder tree = new TreeBuilder();
    KernelExpression divisor = tree.scalar("divisor", ElementKind.LONG);
    KernelArray y = tree.array("y", ElementKind.LONG);
    Variable value = tree.variable(ValueType.LONG);
    KernelTree kernel =
        tree.build(
            tree.divide(value, KernelExpression.Constant.of(7L), divisor),
            tree.store(y, index(), read(value)));

    assertThatThrownBy(() -> Run.all(kernel, LaunchRange.of(1), 0, new long[1]))
        .isExactlyInstanceOf(ArithmeticException.class);
  }

  @Test
  void indicesFarOutsideStayInsideTheMemoryToo() {
    JvmKernel kernel = JvmKernel.compile(shifted());

    assertThatThrownBy(() -> Run.all(kernel, LaunchRange.of(5), 1 << 29, new int[5], new int[5]))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class);
    assertThatThrownBy(() -> Run.all(kernel, LaunchRange.of(5), -1 << 30, new int[5], new int[5]))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class);
  }

  @Test
  void aDivisionByZeroWithoutSiteFailsToo() {
    TreeBuilder tree = new TreeBuilder();
    KernelExpression divisor = tree.scalar("divisor", ElementKind.INT);
    KernelArray y = tree.array("y", ElementKind.INT);
    Variable value = tree.variable(ValueType.INT);
    KernelTree kernel =
        tree.build(
            new Statement.Divide(value, false, constant(7), divisor, null),
            new Statement.Store(y, index(), read(value), null));

    assertThatThrownBy(() -> Run.all(JvmKernel.compile(kernel), LaunchRange.of(1), 0, new int[1]))
        .isExactlyInstanceOf(ArithmeticException.class);
  }

  @Test
  void arraysOfTheItemAndOfTheGroupAreChecked() {
    TreeBuilder tree = new TreeBuilder();
    KernelArray own = tree.own(ElementKind.FLOAT, 4);
    KernelExpression at = tree.scalar("at", ElementKind.INT);
    KernelTree kernel =
        tree.build(tree.store(own, at, new KernelExpression.Constant(ValueType.FLOAT, 0)));

    TreeBuilder other = new TreeBuilder();
    KernelArray shared = other.shared(ElementKind.LONG, 3);
    KernelExpression where = other.scalar("at", ElementKind.INT);
    KernelTree ofGroup = other.build(other.store(shared, where, KernelExpression.Constant.of(0L)));

    assertThatThrownBy(() -> Run.all(kernel, LaunchRange.of(1), 4))
        .hasMessage("Index 4 out of bounds for length 4 of 'new float[4]'");
    assertThatThrownBy(() -> Run.all(ofGroup, LaunchRange.of(1), -1))
        .hasMessage("Index -1 out of bounds for length 3 of 'local longs(3)'");
  }

  @Test
  void atomicStepsRefuseMisalignedMemory() {
    TreeBuilder tree = new TreeBuilder();
    KernelArray x = tree.array("x", ElementKind.INT);
    JvmKernel kernel =
        JvmKernel.compile(
            tree.build(tree.atomic(Statement.AtomicOperation.ADD, x, constant(0), constant(1))));

    try (Arena arena = Arena.ofConfined()) {
      MemorySegment odd = arena.allocate(9, 8).asSlice(1);
      assertThatThrownBy(
              () ->
                  kernel.run(
                      false, new MemorySegment[] {odd}, new Object[1], LaunchRange.of(1), 0, 1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("'x'")
          .hasMessageContaining("atomic");
      MemorySegment even = arena.allocate(ValueLayout.JAVA_INT);
      kernel.run(false, new MemorySegment[] {even}, new Object[1], LaunchRange.of(3), 0, 3);
      assertThat(even.get(ValueLayout.JAVA_INT, 0)).isEqualTo(3);
    }
  }

  @Test
  void missingArgumentsAreNamed() {
    assertThatThrownBy(
            () ->
                JvmKernel.compile(shifted())
                    .run(false, new MemorySegment[3], new Object[3], LaunchRange.of(1), 0, 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("is missing");
  }
}
