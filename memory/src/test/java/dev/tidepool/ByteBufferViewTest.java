package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A buffer is a {@code java.nio} buffer as far as the JDK has buffers of such a size. */
final class ByteBufferViewTest {
  private static final long LARGEST = Integer.MAX_VALUE - 8;

  @TempDir Path folder;

  @Test
  void theLargestViewHasNineBytesLessThan2GiB() throws IOException {
    Path file = folder.resolve("sparse");
    try (RandomAccessFile sparse = new RandomAccessFile(file.toFile(), "rw")) {
      sparse.setLength(LARGEST + 1);
    }
    try (UnifiedMemoryManager memory = UnifiedMemoryManager.create();
        UnifiedBuffer<byte[]> buffer = memory.map(file, ElementType.BYTE, MapMode.READ_WRITE)) {
      assertThatThrownBy(buffer::asByteBuffer)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("take it by slices");
      assertThat(buffer.slice(1, LARGEST).asByteBuffer())
          .returns((int) LARGEST, ByteBuffer::capacity)
          .returns(ByteOrder.nativeOrder(), ByteBuffer::order);
    }
  }
}
