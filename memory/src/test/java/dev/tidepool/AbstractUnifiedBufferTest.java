package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Six methods make a buffer that copies from and to all others. */
class AbstractUnifiedBufferTest {
  private final Tidepool tidepool = Tidepool.open();
  private final Accelerator cpu = tidepool.accelerator("cpu:0");
  private final UnifiedMemoryManager memory = tidepool.memory(cpu);
  private final HeapBuffer buffer = new HeapBuffer(cpu, new float[] {1, 2, 3, 4});

  @AfterEach
  void close() {
    tidepool.close();
  }

  private static final class HeapBuffer extends AbstractUnifiedBuffer<float[]> {
    private final Accelerator accelerator;
    private final float[] array;
    private boolean closed;

    HeapBuffer(Accelerator accelerator, float[] array) {
      this.accelerator = accelerator;
      this.array = array;
    }

    @Override
    public ElementType<float[]> elementType() {
      return ElementType.FLOAT;
    }

    @Override
    public long length() {
      return array.length;
    }

    @Override
    public MemoryLocation location() {
      return MemoryLocation.HOST;
    }

    @Override
    public Accelerator accelerator() {
      return accelerator;
    }

    @Override
    public MemorySegment asSegment() {
      if (closed) {
        throw new IllegalStateException("closed");
      }
      return MemorySegment.ofArray(array);
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  @Test
  void itIsNotLentAndTheErrorSaysWhy() {
    assertThatThrownBy(() -> memory.lend(NativeUse.read(buffer)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("of a program's own class, which cannot be lent");
  }

  @Test
  void buffersOfALibraryCopyFromItAndToIt() {
    try (UnifiedBuffer<float[]> own = memory.allocate(ElementType.FLOAT, 4)) {
      own.copyFrom(buffer);
      own.fill(new float[] {5, 6});
      buffer.slice(2, 2).copyFrom(own.slice(0, 2));
      assertThat(buffer.array).containsExactly(1, 2, 5, 6);
      own.copyFromAsync(buffer).join();
      float[] read = new float[4];
      own.copyTo(read);
      assertThat(read).containsExactly(1, 2, 5, 6);
    }
  }

  @Test
  void arraysSegmentsViewsAndMappingsReachItsBytes() {
    buffer.copyFrom(new float[] {9}, 0, 3, 1);
    buffer.copyFrom(MemorySegment.ofArray(new float[] {8}), 2);
    float[] two = new float[2];
    buffer.copyTo(2, two, 0, 2);
    assertThat(two).containsExactly(8, 9);
    MemorySegment out = MemorySegment.ofArray(two);
    buffer.copyTo(1, out);
    assertThat(two).containsExactly(2, 8);
    int[] bits = new int[4];
    buffer.as(ElementType.INT).copyTo(bits);
    assertThat(bits[0]).isEqualTo(Float.floatToIntBits(1));
    try (HostMapping mapping = buffer.map(MapMode.READ_WRITE)) {
      mapping.segment().set(ValueLayout.JAVA_FLOAT, 0, 7);
    }
    assertThat(buffer.map(MapMode.READ).segment().isReadOnly()).isTrue();
    // Overlapping slices are copied as if through a temporary.
    buffer.slice(1, 3).copyFrom(buffer.slice(0, 3));
    assertThat(buffer.array).containsExactly(7, 7, 2, 8);
    buffer.fillAsync((byte) 0).join();
    assertThat(buffer.array).containsOnly(0);
    assertThat(buffer.state()).isEqualTo(BufferState.HOST_ONLY);
    assertThat(buffer.byteSize()).isEqualTo(16);
  }

  @Test
  void aSliceThatClosesEndsOnlyItself() {
    UnifiedBuffer<float[]> slice = buffer.slice(1, 3);
    UnifiedBuffer<float[]> inner = slice.slice(1, 2);
    UnifiedBuffer<int[]> view = slice.as(ElementType.INT).slice(2, 1);
    slice.close();
    float[] seen = new float[2];
    inner.copyTo(seen);
    assertThat(seen).containsExactly(3, 4);
    view.copyFrom(new int[] {Float.floatToIntBits(9)});
    assertThat(buffer.array).containsExactly(1, 2, 3, 9);
    assertThat(inner).hasToString("FLOAT[2] at byte 8 of " + buffer);
    assertThatThrownBy(() -> slice.slice(0, 1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    assertThatThrownBy(() -> slice.as(ElementType.INT)).isInstanceOf(IllegalStateException.class);
    buffer.close();
    assertThatThrownBy(inner::asSegment).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void mistakesAreErrors() {
    assertThatThrownBy(() -> buffer.copyFrom(new float[5]))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> buffer.copyTo(new float[3]))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> buffer.slice(3, 2)).isInstanceOf(IndexOutOfBoundsException.class);
    UnifiedBuffer<float[]> part = buffer.slice(0, 1);
    part.close();
    assertThatThrownBy(part::asSegment)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("closed");
    buffer.close();
    assertThat(buffer.copyFromAsync(new float[1]).exceptionNow())
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(buffer::synchronize).isInstanceOf(IllegalStateException.class);
  }
}
