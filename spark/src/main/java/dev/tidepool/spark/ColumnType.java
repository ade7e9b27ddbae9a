package dev.tidepool.spark;

import dev.tidepool.ElementType;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** A type that kernels compute with: its Spark and library types, and how values are copied. */
@SuppressWarnings("ImmutableEnumChecker") // Types of both libraries never change.
enum ColumnType {
  BOOLEAN(DataTypes.BooleanType, ElementType.BOOLEAN) {
    @Override
    Object read(WritableColumnVector column, int from, int count) {
      return column.getBooleans(from, count);
    }

    @Override
    void write(Object values, int count, WritableColumnVector column, int from) {
      // Spark has no method that takes an array of booleans.
      boolean[] flags = (boolean[]) values;
      for (int i = 0; i < count; i++) {
        column.putBoolean(from + i, flags[i]);
      }
    }
  },
  BYTE(DataTypes.ByteType, ElementType.BYTE) {
    @Override
    Object read(WritableColumnVector column, int from, int count) {
      return column.getBytes(from, count);
    }

    @Override
    void write(Object values, int count, WritableColumnVector column, int from) {
      column.putBytes(from, count, (byte[]) values, 0);
    }
  },
  SHORT(DataTypes.ShortType, ElementType.SHORT) {
    @Override
    Object read(WritableColumnVector column, int from, int count) {
      return column.getShorts(from, count);
    }

    @Override
    void write(Object values, int count, WritableColumnVector column, int from) {
      column.putShorts(from, count, (short[]) values, 0);
    }
  },
  INT(DataTypes.IntegerType, ElementType.INT) {
    @Override
    Object read(WritableColumnVector column, int from, int count) {
      return column.getInts(from, count);
    }

    @Override
    void write(Object values, int count, WritableColumnVector column, int from) {
      column.putInts(from, count, (int[]) values, 0);
    }
  },
  LONG(DataTypes.LongType, ElementType.LONG) {
    @Override
    Object read(WritableColumnVector column, int from, int count) {
      return column.getLongs(from, count);
    }

    @Override
    void write(Object values, int count, WritableColumnVector column, int from) {
      column.putLongs(from, count, (long[]) values, 0);
    }
  },
  FLOAT(DataTypes.FloatType, ElementType.FLOAT) {
    @Override
    Object read(WritableColumnVector column, int from, int count) {
      return column.getFloats(from, count);
    }

    @Override
    void write(Object values, int count, WritableColumnVector column, int from) {
      column.putFloats(from, count, (float[]) values, 0);
    }
  },
  DOUBLE(DataTypes.DoubleType, ElementType.DOUBLE) {
    @Override
    Object read(WritableColumnVector column, int from, int count) {
      return column.getDoubles(from, count);
    }

    @Override
    void write(Object values, int count, WritableColumnVector column, int from) {
      column.putDoubles(from, count, (double[]) values, 0);
    }
  };

  private final DataType sparkType;
  private final ElementType<?> elementType;

  ColumnType(DataType sparkType, ElementType<?> elementType) {
    this.sparkType = sparkType;
    this.elementType = elementType;
  }

  /** Returns the type of a column; empty if kernels do not compute with it. */
  static Optional<ColumnType> of(DataType type) {
    return Stream.of(values()).filter(each -> each.sparkType.equals(type)).findFirst();
  }

  /** Returns the type of a buffer's elements; empty if Spark has no such column. */
  static Optional<ColumnType> of(ElementType<?> type) {
    return Stream.of(values()).filter(each -> each.elementType.equals(type)).findFirst();
  }

  DataType sparkType() {
    return sparkType;
  }

  ElementType<?> elementType() {
    return elementType;
  }

  /** Copies values of a column into a new array. */
  abstract Object read(WritableColumnVector column, int from, int count);

  /** Copies the first values of an array into a column. */
  abstract void write(Object values, int count, WritableColumnVector column, int from);
}
