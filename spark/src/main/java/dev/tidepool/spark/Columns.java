package dev.tidepool.spark;

import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/** The columns of a dataset by name, case-sensitive or not as the session's setting says. */
final class Columns {
  private final List<Attribute> attributes;
  private final boolean caseSensitive;

  Columns(LogicalPlan plan, SparkSession session) {
    SQLConf conf = session.sessionState().conf();
    this.attributes = Scala.list(plan.output());
    this.caseSensitive = conf.caseSensitiveAnalysis();
  }

  /** Returns the position of the first column with a name, or -1. */
  int place(String name) {
    return places(name).findFirst().orElse(-1);
  }

  private IntStream places(String name) {
    return IntStream.range(0, attributes.size())
        .filter(i -> isSame(attributes.get(i).name(), name));
  }

  /**
   * Returns the only column with a name.
   *
   * @throws IllegalArgumentException if no column or several columns have the name
   */
  Attribute attribute(String name) {
    int[] found = places(name).toArray();
    if (found.length == 0) {
      throw new IllegalArgumentException(
          "the dataset has no column '"
              + name
              + "'; its columns are "
              + attributes.stream().map(Attribute::name).toList());
    }
    if (found.length > 1) {
      throw new IllegalArgumentException(
          "the dataset has " + found.length + " columns '" + name + "'; rename all but one");
    }
    return attributes.get(found[0]);
  }

  /**
   * Checks that a result replaces at most one column.
   *
   * @throws IllegalArgumentException if several columns have the name, or another result has it
   */
  void checkResult(String name, TypedKernel kernel) {
    if (places(name).count() > 1) {
      attribute(name);
    }
    for (TypedKernel.Array other : kernel.results()) {
      if (!other.name().equals(name) && isSame(other.name(), name)) {
        throw new IllegalArgumentException(
            "the results '"
                + name
                + "' and '"
                + other.name()
                + "' would be one column, because spark.sql.caseSensitive is false; rename one");
      }
    }
  }

  private boolean isSame(String name, String other) {
    return caseSensitive ? name.equals(other) : name.equalsIgnoreCase(other);
  }

  /**
   * Returns the type of the column with a name.
   *
   * @throws IllegalArgumentException if kernels do not compute with the column's type
   */
  ColumnType type(String name) {
    Attribute column = attribute(name);
    return ColumnType.of(column.dataType())
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "the column '"
                        + name
                        + "' is of type "
                        + column.dataType().sql()
                        + "; kernels compute with BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT"
                        + " and DOUBLE: cast it before"));
  }
}
