package dev.tidepool.runtime.threads;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.MethodModel;
import java.lang.classfile.attribute.CodeAttribute;
import org.junit.jupiter.api.Test;

class StackReserveTest {
  /** HotSpot's {@code FreqInlineSize}: longer methods are not inlined. */
  private static final int INLINED = 325;

  /** HotSpot's {@code HugeMethodLimit}: longer methods are not compiled. */
  private static final int COMPILED = 8000;

  private static final int RESERVE = 16 << 10;
  private static final int SLOT = 8;

  @Test
  void compilersDoNotInlineTheLargeFrame() throws Exception {
    CodeAttribute code = largeFrame();
    assertThat(code.codeLength()).isGreaterThan(INLINED).isLessThan(COMPILED);
    assertThat(code.maxLocals() * SLOT).isGreaterThanOrEqualTo(RESERVE);
  }

  private static CodeAttribute largeFrame() throws Exception {
    try (InputStream in = LargeFrame.class.getResourceAsStream("LargeFrame.class")) {
      MethodModel method =
          ClassFile.of().parse(in.readAllBytes()).methods().stream()
              .filter(each -> each.methodName().equalsString("enter"))
              .findFirst()
              .orElseThrow();
      return (CodeAttribute) method.code().orElseThrow();
    }
  }
}
