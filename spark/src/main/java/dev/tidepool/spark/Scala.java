package dev.tidepool.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Converts lists and schemas between Java and Spark. */
final class Scala {
  private Scala() {}

  /** Returns an immutable sequence of the elements of a list. */
  static <T> Seq<T> seq(List<? extends T> list) {
    return CollectionConverters.<T>asScala(new ArrayList<T>(list)).toSeq();
  }

  /** Returns a list of the elements of a sequence. */
  static <T> List<T> list(scala.collection.Seq<T> seq) {
    return List.copyOf(CollectionConverters.asJava(seq));
  }

  /** Returns the schema of columns. */
  static StructType schema(Seq<Attribute> columns) {
    return new StructType(
        list(columns).stream()
            .map(
                column ->
                    new StructField(
                        column.name(), column.dataType(), column.nullable(), column.metadata()))
            .toArray(StructField[]::new));
  }
}
