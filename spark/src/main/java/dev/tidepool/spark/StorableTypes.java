package dev.tidepool.spark;

import java.util.stream.Stream;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimeType;
import org.apache.spark.sql.types.UserDefinedType;

/**
 * Replaces types that Spark's column vectors do not store by types that they do. Values of both
 * types have the same representation, so code that reads a column by its original type works.
 */
final class StorableTypes {
  private StorableTypes() {}

  /** Returns a schema whose columns can be stored. */
  static StructType of(StructType schema) {
    return new StructType(
        Stream.of(schema.fields())
            .map(
                field ->
                    new StructField(
                        field.name(), of(field.dataType()), field.nullable(), field.metadata()))
            .toArray(StructField[]::new));
  }

  private static DataType of(DataType type) {
    return switch (type) {
      // Strings with a collation or a length.
      case StringType _ -> DataTypes.StringType;
      // All values are null.
      case NullType _ -> DataTypes.BooleanType;
      case TimeType _ -> DataTypes.LongType;
      case UserDefinedType<?> own -> of(own.sqlType());
      case ArrayType array -> new ArrayType(of(array.elementType()), array.containsNull());
      case MapType map ->
          new MapType(of(map.keyType()), of(map.valueType()), map.valueContainsNull());
      case StructType struct -> of(struct);
      default -> type;
    };
  }
}
