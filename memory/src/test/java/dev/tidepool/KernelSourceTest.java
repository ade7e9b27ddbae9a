package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;

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
}
