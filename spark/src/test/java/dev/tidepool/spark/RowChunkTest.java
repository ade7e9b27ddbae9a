package dev.tidepool.spark;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("A chunk of rows")
class RowChunkTest {
  private static final StructType TEXTS =
      new StructType().add("id", DataTypes.LongType).add("text", DataTypes.StringType);

  private static int rowsOf(int textBytes) {
    RowChunk chunk = new RowChunk(TEXTS, new StructType(), 1000, 64 << 10);
    UnsafeProjection toRow = UnsafeProjection.create(TEXTS);
    UTF8String text = UTF8String.fromString("x".repeat(textBytes));
    int rows = 0;
    do {
      rows++;
      chunk.append(toRow.apply(new GenericInternalRow(new Object[] {7L, text})));
    } while (!chunk.addRow());
    return rows;
  }

  @Test
  @DisplayName("is full with its rows, or earlier with the bytes of their strings")
  void full() {
    assertThat(rowsOf(8)).isEqualTo(1000);
    assertThat(rowsOf(16 << 10)).isEqualTo(4);
    assertThat(rowsOf(1 << 20)).isEqualTo(1);
  }
}
