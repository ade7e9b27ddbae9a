package dev.tidepool.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.interop.ArrowC;
import dev.tidepool.interop.ArrowColumn;
import dev.tidepool.interop.ArrowExport;
import dev.tidepool.opencl.OpenClProvider;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import java.util.List;
import org.apache.arrow.c.ArrowArray;
import org.apache.arrow.c.ArrowSchema;
import org.apache.arrow.c.Data;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.VarCharVector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Arrow's Java library as the far side of columns, on shared memory and on a discrete device. */
class ArrowExchangeTest {
  private static final String SHARED = "cpu:0";
  private static final String DISCRETE = "simulated:0";
  private static final String OPENCL = "opencl:0";

  private BufferAllocator arrow;
  private Tidepool tidepool;
  private UnifiedMemoryManager memory;

  @BeforeEach
  void open() {
    arrow = new RootAllocator();
    SimulatedProvider simulated = new SimulatedProvider(SimulatedHardware.discrete());
    tidepool = Discovery.using(List.of(simulated, new OpenClProvider()), Tidepool::open);
  }

  private void on(String accelerator) {
    memory = tidepool.memory(tidepool.accelerator(SHARED));
    Assumptions.assumeTrue(
        tidepool.accelerators().stream().anyMatch(one -> one.id().equals(accelerator)),
        "needs pocl-opencl-icd");
    memory = tidepool.memory(tidepool.accelerator(accelerator));
  }

  @AfterEach
  void close() {
    assertThat(memory.statistics().activeBuffers()).as("buffers left").isZero();
    tidepool.close();
    // Fails if Arrow has memory that was not released.
    arrow.close();
  }

  private FieldVector imported(ArrowExport column) {
    return Data.importVector(
        arrow, ArrowArray.wrap(column.array()), ArrowSchema.wrap(column.schema()), null);
  }

  /** Moves a vector to a column. */
  private ArrowColumn column(FieldVector vector, MapMode mode) {
    try (ArrowArray array = ArrowArray.allocateNew(arrow);
        ArrowSchema schema = ArrowSchema.allocateNew(arrow)) {
      Data.exportVector(arrow, vector, null, array, schema);
      return ArrowC.open(memory, array.memoryAddress(), schema.memoryAddress(), mode);
    }
  }

  private ArrowColumn column(FieldVector vector) {
    return column(vector, MapMode.READ_WRITE);
  }

  @ParameterizedTest
  @ValueSource(strings = {SHARED, DISCRETE, OPENCL})
  void arrowReadsTheHostsCopyOfABuffer(String accelerator) {
    on(accelerator);
    UnifiedBuffer<float[]> buffer = memory.copyOf(new float[] {1, 2, 3, 4});
    memory.compile(KernelSource.elementwise("y = y * 2")).execute(Arguments.of("y", buffer));
    ArrowExport column = ArrowC.export(buffer);
    FieldVector vector = imported(column);
    column.close();
    assertThat(column.isReleased()).isFalse();
    assertThat(vector).isInstanceOf(Float4Vector.class);
    assertThat(vector.getDataBufferAddress()).isEqualTo(buffer.asSegment().address());
    // The vector outlives the buffer.
    buffer.close();
    assertThat(vector.getValueCount()).isEqualTo(4);
    assertThat(vector.getNullCount()).isZero();
    for (int i = 0; i < 4; i++) {
      assertThat(((Float4Vector) vector).get(i)).isEqualTo(2f * (i + 1));
    }
    vector.close();
    assertThat(column.isReleased()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {SHARED})
  void everyTypeOfNumbersIsAColumn(String accelerator) {
    on(accelerator);
    for (ElementType<?> type :
        List.of(
            ElementType.BYTE,
            ElementType.SHORT,
            ElementType.INT,
            ElementType.LONG,
            ElementType.UNSIGNED_BYTE,
            ElementType.UNSIGNED_SHORT,
            ElementType.UNSIGNED_INT,
            ElementType.UNSIGNED_LONG,
            ElementType.FLOAT,
            ElementType.DOUBLE)) {
      try (UnifiedBuffer<?> buffer = memory.allocate(type, 3)) {
        buffer.fill((byte) 0);
        ArrowExport column = ArrowC.export(buffer);
        try (FieldVector vector = imported(column);
            ArrowColumn back = column(vector)) {
          assertThat(((BaseFixedWidthVector) vector).getTypeWidth())
              .isEqualTo((int) type.byteSize());
          assertThat(back.buffer(type).length()).isEqualTo(3);
          assertThat(back.buffer().asSegment().address()).isEqualTo(buffer.asSegment().address());
        }
        column.close();
        assertThat(column.isReleased()).isTrue();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SHARED, DISCRETE, OPENCL})
  void aKernelComputesOverAVector(String accelerator) {
    on(accelerator);
    try (Float8Vector vector = new Float8Vector("x", arrow)) {
      vector.allocateNew(1000);
      for (int i = 0; i < 1000; i++) {
        vector.set(i, i);
      }
      vector.setValueCount(1000);
      try (ArrowColumn column = column(vector)) {
        assertThat(column.name()).isEqualTo("x");
        assertThat(column.format()).isEqualTo("g");
        assertThat(column.nullCount()).isZero();
        UnifiedBuffer<double[]> buffer = column.buffer(ElementType.DOUBLE);
        assertThat(buffer.asReadOnlySegment().address()).isEqualTo(vector.getDataBufferAddress());
        memory.compile(KernelSource.elementwise("y = y + 1")).execute(Arguments.of("y", buffer));
      }
      for (int i = 0; i < 1000; i++) {
        assertThat(vector.get(i)).isEqualTo(i + 1.0);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SHARED, DISCRETE, OPENCL})
  void nullsAreBitsOfABuffer(String accelerator) {
    on(accelerator);
    try (IntVector vector = new IntVector("i", arrow)) {
      vector.allocateNew(20);
      for (int i = 0; i < 20; i++) {
        if (i % 3 == 0) {
          vector.setNull(i);
        } else {
          vector.set(i, i);
        }
      }
      vector.setValueCount(20);
      try (ArrowColumn column = column(vector, MapMode.READ)) {
        assertThat(column.nullCount()).isEqualTo(7);
        UnifiedBuffer<byte[]> validity = column.validity().orElseThrow();
        byte[] bits = new byte[3];
        validity.copyTo(bits);
        int[] values = new int[20];
        column.buffer(ElementType.INT).copyTo(values);
        for (int i = 0; i < 20; i++) {
          int bit = i + column.validityOffset();
          assertThat(bits[bit / 8] >> (bit % 8) & 1).as("bit " + i).isEqualTo(i % 3 == 0 ? 0 : 1);
          if (i % 3 != 0) {
            assertThat(values[i]).isEqualTo(i);
          }
        }
        assertThatThrownBy(() -> column.buffer().fill((byte) 0))
            .isInstanceOf(UnsupportedOperationException.class);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SHARED})
  void aColumnOutlivesTheVector(String accelerator) {
    on(accelerator);
    BigIntVector vector = new BigIntVector("l", arrow);
    vector.allocateNew(100);
    for (int i = 0; i < 100; i++) {
      vector.set(i, i);
    }
    vector.setValueCount(100);
    ArrowColumn column = column(vector);
    vector.close();
    assertThat(arrow.getAllocatedMemory()).isPositive();
    long[] values = new long[100];
    column.buffer(ElementType.LONG).copyTo(values);
    assertThat(values[99]).isEqualTo(99);
    column.close();
    column.close();
    assertThat(arrow.getAllocatedMemory()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {SHARED})
  void datesAreTheirIntegers(String accelerator) {
    on(accelerator);
    try (DateDayVector vector = new DateDayVector("d", arrow)) {
      vector.allocateNew(1);
      vector.set(0, 20_000);
      vector.setValueCount(1);
      try (ArrowColumn column = column(vector)) {
        int[] days = new int[1];
        column.buffer(ElementType.INT).copyTo(days);
        assertThat(days).containsExactly(20_000);
        assertThatIllegalArgumentException()
            .isThrownBy(() -> column.buffer(ElementType.FLOAT))
            .withMessageContaining("INT");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SHARED})
  void otherColumnsAreRefusedAndReleased(String accelerator) {
    on(accelerator);
    try (VarCharVector texts = new VarCharVector("texts", arrow);
        BitVector bits = new BitVector("bits", arrow)) {
      texts.allocateNew();
      texts.setSafe(0, new byte[] {65});
      texts.setValueCount(1);
      bits.allocateNew(8);
      bits.setValueCount(8);
      for (FieldVector vector : List.of(texts, bits)) {
        assertThatThrownBy(() -> column(vector))
            .isInstanceOf(UnsupportedOperationException.class)
            .hasMessageContaining("format");
      }
    }
    assertThat(arrow.getAllocatedMemory()).as("what the refused columns had").isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {SHARED})
  void whatIsReleasedOrNoAddressIsRefused(String accelerator) {
    on(accelerator);
    try (ArrowArray array = ArrowArray.allocateNew(arrow);
        ArrowSchema schema = ArrowSchema.allocateNew(arrow)) {
      array.markReleased();
      schema.markReleased();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ArrowC.open(memory, array.memoryAddress(), schema.memoryAddress()))
          .withMessageContaining("released");
    }
    assertThatIllegalArgumentException().isThrownBy(() -> ArrowC.open(memory, 0, 0));
    assertThatIllegalArgumentException().isThrownBy(() -> ArrowC.open(memory, 4, -8));
    try (UnifiedBuffer<boolean[]> flags = memory.allocate(ElementType.BOOLEAN, 3)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ArrowC.export(flags))
          .withMessageContaining("bits");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SHARED})
  void aColumnThatNobodyTookIsReleasedByItsClose(String accelerator) {
    on(accelerator);
    try (UnifiedBuffer<int[]> buffer = memory.copyOf(new int[] {1, 2})) {
      ArrowExport column = ArrowC.export(buffer);
      column.close();
      column.close();
      assertThat(column.isReleased()).isTrue();
      assertThatIllegalStateException().isThrownBy(column::array);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SHARED})
  void aRefusedAdoptionReleasesTheArray(String accelerator) {
    on(accelerator);
    try (IntVector vector = new IntVector("i", arrow)) {
      vector.allocateNew(1);
      vector.set(0, 1);
      vector.setValueCount(1);
      memory.close();
      assertThatIllegalStateException().isThrownBy(() -> column(vector));
    }
    assertThat(arrow.getAllocatedMemory()).isZero();
  }
}
