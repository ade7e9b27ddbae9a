package dev.tidepool.testkit.kernels;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** A kernel has to fail where its method does, and with the same index. */
class MismatchTest {
  private static final String OUTSIDE = "Index 5 out of bounds for length 3";
  private static final StackTraceElement HERE =
      new StackTraceElement(MismatchTest.class.getName(), "kernel", "MismatchTest.java", 7);

  private static Throwable placed(Throwable fault, StackTraceElement... trace) {
    fault.setStackTrace(trace);
    return fault;
  }

  private static Throwable outside(String message) {
    return placed(new ArrayIndexOutOfBoundsException(message), HERE);
  }

  private static boolean isSame(Throwable plain, Throwable kernel) {
    return Mismatch.isSameFault(plain, kernel, MismatchTest.class);
  }

  @Test
  void indexAndLengthAreCompared() {
    assertThat(isSame(outside(OUTSIDE), outside(OUTSIDE + " of 'x'"))).isTrue();
    assertThat(isSame(outside(OUTSIDE), outside("Index 6 out of bounds for length 3 of 'x'")))
        .isFalse();
    assertThat(isSame(outside(OUTSIDE), outside("Index 5 out of bounds for length 32 of 'x'")))
        .isFalse();
    assertThat(
            isSame(
                placed(new ArithmeticException("/ by zero"), HERE),
                placed(new ArithmeticException("/ by zero"), HERE)))
        .isTrue();
  }

  @Test
  void aFaultOfCompiledJavaHasNeitherPlaceNorMessage() {
    Throwable compiled = placed(new ArrayIndexOutOfBoundsException());
    assertThat(isSame(compiled, outside("Index 6 out of bounds for length 3 of 'x'"))).isTrue();
    assertThat(isSame(placed(new ArithmeticException()), outside(OUTSIDE + " of 'x'"))).isFalse();
  }
}
