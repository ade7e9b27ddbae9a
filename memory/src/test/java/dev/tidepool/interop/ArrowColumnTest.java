package dev.tidepool.interop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The structures of columns that are exported, and of those that cannot be opened. */
class ArrowColumnTest {
  private final Tidepool tidepool = Tidepool.open();
  private final UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
  private final UnifiedBuffer<float[]> buffer = memory.copyOf(new float[] {1, 2});

  @AfterEach
  void close() {
    buffer.close();
    assertThat(memory.statistics().activeBuffers()).isZero();
    tidepool.close();
  }

  @Test
  void ofTwoStructuresTheOtherIsReleasedTooWhereOneWasMovedBefore() {
    try (ArrowExport moved = ArrowC.export(buffer);
        ArrowExport left = ArrowC.export(buffer)) {
      ArrowC.open(memory, moved.array(), left.schema()).close();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ArrowC.open(memory, moved.array(), moved.schema()))
          .withMessageStartingWith("the Arrow array was released or moved before, and its schema");
      MemorySegment schema =
          MemorySegment.ofAddress(moved.schema()).reinterpret(ArrowStructs.SCHEMA_BYTES);
      assertThat(ArrowStructs.isReleased(schema, ArrowStructs.SCHEMA_RELEASE)).isTrue();
      assertThat(left.isReleased()).isFalse();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ArrowC.open(memory, left.array(), left.schema()))
          .withMessageStartingWith("the schema of the Arrow array was released or moved before");
      assertThat(left.isReleased()).isTrue();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ArrowC.open(memory, left.array(), left.schema()))
          .withMessageStartingWith("the Arrow array and its schema were released");
    }
  }

  private boolean isSchemaReleased(ArrowExport export) {
    MemorySegment schema =
        MemorySegment.ofAddress(export.schema()).reinterpret(ArrowStructs.SCHEMA_BYTES);
    return ArrowStructs.isReleased(schema, ArrowStructs.SCHEMA_RELEASE);
  }

  @Test
  void ofTwoAddressesTheOtherIsReleasedWhereOneIsNone() {
    try (ArrowExport first = ArrowC.export(buffer);
        ArrowExport second = ArrowC.export(buffer)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ArrowC.open(memory, first.array(), 0))
          .withMessage("no Arrow schema is at 0x0; its array is released now");
      assertThat(first.isReleased()).isTrue();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ArrowC.openDevice(memory, 4, first.schema()))
          .withMessage("no Arrow array is at 0x4; its schema is released now");
      assertThat(isSchemaReleased(first)).isTrue();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ArrowC.openDevice(memory, second.array(), -8));
      assertThat(second.isReleased()).isTrue();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ArrowC.open(memory, 0, 0))
          .withMessage("no Arrow array is at 0x0");
    }
  }

  @Test
  void aColumnIsShownWithItsTypeAndLengthEvenIfItIsClosed() {
    try (ArrowExport export = ArrowC.export(buffer);
        ArrowColumn column = ArrowC.open(memory, export.array(), export.schema())) {
      assertThat(column).hasToString("FLOAT[2] of Arrow, 0 nulls");
      column.close();
      assertThat(column).hasToString("FLOAT[2] of Arrow, 0 nulls");
    }
  }

  @Test
  void aColumnOfTheHostIsOnNoDeviceAndMayHaveNulls() {
    try (ArrowExport export = ArrowC.exportDevice(buffer)) {
      MemorySegment array =
          MemorySegment.ofAddress(export.array()).reinterpret(ArrowStructs.DEVICE_ARRAY_BYTES);
      MemorySegment schema =
          MemorySegment.ofAddress(export.schema()).reinterpret(ArrowStructs.SCHEMA_BYTES);
      assertThat(array.get(ValueLayout.JAVA_LONG, ArrowStructs.LENGTH)).isEqualTo(2);
      assertThat(array.get(ValueLayout.JAVA_LONG, ArrowStructs.DEVICE_ID)).isEqualTo(-1);
      assertThat(array.get(ValueLayout.JAVA_INT, ArrowStructs.DEVICE_TYPE))
          .isEqualTo(DeviceTypes.CPU);
      assertThat(schema.get(ValueLayout.JAVA_LONG, ArrowStructs.FLAGS))
          .isEqualTo(ArrowStructs.NULLABLE);
    }
  }

  @Test
  void anArrayThatAConsumerMovedOutlivesTheClose() {
    try (Arena arena = Arena.ofConfined()) {
      ArrowExport export = ArrowC.export(buffer);
      MemorySegment array =
          MemorySegment.ofAddress(export.array()).reinterpret(ArrowStructs.ARRAY_BYTES);
      MemorySegment moved = arena.allocate(ArrowStructs.ARRAY_BYTES, 8).copyFrom(array);
      array.set(ValueLayout.JAVA_LONG, ArrowStructs.ARRAY_RELEASE, 0);
      export.close();
      assertThat(export.isReleased()).isFalse();
      ArrowStructs.release(moved, ArrowStructs.ARRAY_RELEASE);
      assertThat(export.isReleased()).isTrue();
    }
  }

  @Test
  void nullsWithoutBitsThatTellWhichTheyAreAreRefused() {
    try (ArrowExport export = ArrowC.export(buffer)) {
      MemorySegment array =
          MemorySegment.ofAddress(export.array()).reinterpret(ArrowStructs.ARRAY_BYTES);
      array.set(ValueLayout.JAVA_LONG, ArrowStructs.NULL_COUNT, 1);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ArrowC.open(memory, export.array(), export.schema()))
          .withMessageContaining("has 1 nulls, and no bits that tell which they are");
      assertThat(export.isReleased()).isTrue();
      assertThat(isSchemaReleased(export)).isTrue();
    }
  }
}
