package dev.tidepool.methods.bytecode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelSource;
import dev.tidepool.methods.tree.KernelTree;
import java.lang.invoke.MethodHandles;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Constants that have their values once their class is initialised. */
class FieldConstantsTest {
  /** A kernel that is read above the constant that it uses. */
  @SuppressWarnings("unused")
  private static final class TooEarly {
    static final KernelSource.Method SOURCE = KernelSource.method(MethodHandles.lookup(), "filled");
    static final @Nullable Throwable REFUSED = catchThrowable(() -> MethodReader.read(SOURCE));
    static final int N = Integer.getInteger("tidepool.test.unset", 7919);

    static void filled(int i, int[] x) {
      x[i] = N;
    }
  }

  /** A kernel that is read below its constants. */
  @SuppressWarnings("unused")
  private static final class InTime {
    static final int N = Integer.getInteger("tidepool.test.unset", 7919);
    static final boolean NEGATIVE = Boolean.getBoolean("tidepool.test.unset");
    static final KernelTree TREE =
        MethodReader.read(KernelSource.method(MethodHandles.lookup(), "filled"));
    static final int LATER = Integer.getInteger("tidepool.test.unset", 1);

    static void filled(int i, int[] x) {
      x[i] = NEGATIVE ? -N : N;
    }
  }

  private static class Parent {
    static final int OF_CLASS = Integer.getInteger("tidepool.test.unset", 7907);
  }

  private interface Limits {
    int OF_INTERFACE = Integer.getInteger("tidepool.test.unset", 7901);
  }

  /** A kernel that uses constants of others by their names alone: the class file says "Heir". */
  @SuppressWarnings("unused")
  private static final class Heir extends Parent implements Limits {
    static final KernelSource.Method SOURCE = KernelSource.method(MethodHandles.lookup(), "filled");

    static void filled(int i, int[] x) {
      x[i] = OF_CLASS;
      x[i] = OF_INTERFACE;
    }
  }

  @Test
  void constantsAreInheritedFromClassesAndInterfaces() {
    assertThat(MethodReader.read(Heir.SOURCE).body().toString()).contains("bits=7907", "bits=7901");
  }

  @Test
  void aConstantWithoutItsValueIsRefusedAndReadOnceItHasOne() {
    assertThat(TooEarly.REFUSED)
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageContainingAll(
            "TooEarly.filled, line ",
            "TooEarly.N, which has no value yet because its class is being initialised",
            "declare it above the kernel");
    assertThat(MethodReader.read(TooEarly.SOURCE).body().toString()).contains("bits=7919");
  }

  @Test
  void aConstantAboveTheKernelIsReadWhileItsClassIsInitialised() {
    assertThat(InTime.TREE.body().toString()).contains("bits=7919");
    assertThat(InTime.LATER).isOne();
  }
}
