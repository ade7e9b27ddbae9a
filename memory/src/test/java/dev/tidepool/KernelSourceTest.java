package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class KernelSourceTest {
  private static final byte[] CODE = {1, 2, 3};

  @Test
  void equalImagesAreEqualSources() {
    assertThat(KernelSource.cuda(CODE, "f"))
        .isEqualTo(KernelSource.cuda(CODE.clone(), "f"))
        .hasSameHashCodeAs(KernelSource.cuda(CODE.clone(), "f"))
        .isNotEqualTo(KernelSource.cuda(CODE, "g"))
        .isNotEqualTo(KernelSource.cuda(new byte[] {1, 2, 4}, "f"));
  }

  @Test
  void anImageIsCopiedAndReadMoreThanOnce() {
    byte[] code = CODE.clone();
    KernelSource.CudaImage source = (KernelSource.CudaImage) KernelSource.cuda(code, "f");
    code[0] = 9;
    for (int i = 0; i < 2; i++) {
      ByteBuffer image = source.image();
      byte[] read = new byte[image.remaining()];
      image.get(read);
      assertThat(read).containsExactly(CODE);
      assertThat(image.isReadOnly()).isTrue();
    }
  }

  /** Kernels, and methods that have their names. */
  public static final class Overloaded {
    @KernelMethod
    public static void scaled(int i, float[] x) {
      x[i] = scaled(x[i]);
    }

    private static float scaled(float x) {
      return 2 * x;
    }

    @KernelMethod
    public static void twice(int i, float[] x) {
      x[i] *= 2;
    }

    @KernelMethod
    public static void twice(int i, int[] x) {
      x[i] *= 2;
    }

    public static void plain(int i, float[] x) {
      x[i] = 1;
    }
  }

  @Test
  void theMethodOfANameThatIsAnnotatedIsTheKernel() {
    assertThat(KernelSource.method(Overloaded.class, "scaled"))
        .isEqualTo(
            KernelSource.method(
                MethodHandles.lookup().in(Overloaded.class),
                "scaled",
                MethodType.methodType(void.class, int.class, float[].class)));
    float[] x = {1, 2};
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create("cpu:0")) {
      memory.compile(KernelSource.method(Overloaded.class, "scaled")).execute(Arguments.inOrder(x));
    }
    assertThat(x).containsExactly(2, 4);
  }

  @Test
  void severalAnnotatedMethodsOfANameAreRefusedAndSoIsOneThatIsNot() {
    assertThatThrownBy(() -> KernelSource.method(Overloaded.class, "twice"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("declares several methods twice")
        .hasMessageContaining("pass a MethodHandles.Lookup, the name and the MethodType of one: (");
    assertThatThrownBy(() -> KernelSource.method(Overloaded.class, "plain"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("plain has no @KernelMethod");
    assertThatThrownBy(() -> KernelSource.method(Overloaded.class, "absent"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("declares no method absent; it declares [plain, scaled, twice]");
  }
}
