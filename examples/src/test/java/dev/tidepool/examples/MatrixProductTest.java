package dev.tidepool.examples;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.Tidepool;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import org.junit.jupiter.api.Test;

/** CLBlast in the memory of buffers. */
class MatrixProductTest {
  @Test
  void isWhatAPlainLoopComputes() {
    requireOpenCl();
    assertThatCode(() -> MatrixProduct.main(new String[] {"100"})).doesNotThrowAnyException();
  }

  /** Skips the test where OpenCL or CLBlast is absent, and fails it where CI promised them. */
  private static void requireOpenCl() {
    try (Tidepool tidepool = Tidepool.open()) {
      if (tidepool.accelerators().stream().noneMatch(one -> one.id().startsWith("opencl:"))) {
        absent("pocl-opencl-icd");
      }
    }
    try (Arena arena = Arena.ofConfined()) {
      SymbolLookup.libraryLookup("libclblast.so.1", arena);
    } catch (IllegalArgumentException none) {
      absent("libclblast1");
    }
  }

  private static void absent(String packageName) {
    String message = "this test needs " + packageName;
    if ("true".equals(System.getenv("CI"))) {
      throw new AssertionError(message);
    }
    abort(message);
  }
}
