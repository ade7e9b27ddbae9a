package dev.tidepool.runtime.threads;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.MethodModel;
import java.lang.classfile.attribute.CodeAttribute;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StackReserveTest {
  /** HotSpot's {@code FreqInlineSize}: longer methods are not inlined. */
  private static final int INLINED = 325;

  /** HotSpot's {@code HugeMethodLimit}: longer methods are not compiled. */
  private static final int COMPILED = 8000;

  private static final int RESERVE = 16 << 10;
  private static final int SLOT = 8;

  /** After so many calls the methods are compiled. */
  private static final int COMPILING = 200_000;

  private int checked;
  private int checkedForOneOnly;

  @ParameterizedTest
  @ValueSource(classes = {LargeFrame.class, LargerFrame.class})
  void compilersDoNotInlineTheLargeFrames(Class<?> frame) throws Exception {
    CodeAttribute code = enter(frame);
    assertThat(code.codeLength()).isGreaterThan(INLINED).isLessThan(COMPILED);
    int reserve = frame == LargeFrame.class ? RESERVE : 2 * RESERVE;
    assertThat(code.maxLocals() * SLOT).isGreaterThanOrEqualTo(reserve);
  }

  private static CodeAttribute enter(Class<?> frame) throws Exception {
    try (InputStream in = frame.getResourceAsStream(frame.getSimpleName() + ".class")) {
      MethodModel method =
          ClassFile.of().parse(in.readAllBytes()).methods().stream()
              .filter(each -> each.methodName().equalsString("enter"))
              .findFirst()
              .orElseThrow();
      return (CodeAttribute) method.code().orElseThrow();
    }
  }

  @Test
  void compiledChecksForTwoOperationsNeedMoreStackThanForOne() throws Exception {
    for (int i = 0; i < COMPILING; i++) {
      StackReserve.check();
      StackReserve.checkForTwo();
    }
    Thread thread = new Thread(null, this::dive, "dive", 256 << 10);
    thread.start();
    thread.join();
    assertThat(checked).isPositive();
    assertThat(checkedForOneOnly).isPositive();
  }

  @SuppressWarnings("InfiniteRecursion") // on purpose
  private void dive() {
    try {
      dive();
    } catch (StackOverflowError e) {
      // The next one up tries.
    }
    if (has(StackReserve::check)) {
      checked++;
      if (!has(StackReserve::checkForTwo)) {
        checkedForOneOnly++;
      }
    }
  }

  private static boolean has(Runnable check) {
    try {
      check.run();
      return true;
    } catch (StackOverflowError e) {
      return false;
    }
  }
}
