package dev.tidepool.spark;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.Metadata;
import scala.Option;

/**
 * Kernels over the columns of datasets.
 *
 * {@snippet :
 * ColumnKernel distance = ColumnKernel.elementwise("d = sqrt(x * x + y * y)");
 * Dataset<Row> result = TidepoolFunctions.mapPartitions(points, distance, "x", "y");
 * }
 */
public final class TidepoolFunctions {
  private TidepoolFunctions() {}

  /**
   * Runs a kernel over every row of a dataset, on the accelerators of the executors. Nothing is
   * computed before an action needs it.
   *
   * <p>The result has all columns of the dataset, of any type, followed by the results of the
   * kernel. A result with the name of a column replaces that column.
   *
   * <p>Each task computes its partition in chunks, so a partition may be larger than the memory of
   * the device. A null in a column that the kernel reads fails the task with an {@link
   * IllegalArgumentException} that names the column. An error of the device fails the task too, and
   * Spark retries the task as usual.
   *
   * @param columns the columns that the kernel reads, by their names in the kernel; their types
   *     must be BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE
   * @throws IllegalArgumentException if a column is absent or of another type, or a name of the
   *     kernel is neither a column nor a scalar nor a result
   * @throws dev.tidepool.KernelCompilationException if the kernel cannot be compiled
   * @throws IllegalStateException if the application has no {@link TidepoolPlugin}
   * @throws UnsupportedOperationException for datasets of Spark Connect
   */
  public static Dataset<Row> mapPartitions(
      Dataset<?> dataset, ColumnKernel kernel, String... columns) {
    if (!(dataset instanceof org.apache.spark.sql.classic.Dataset<?> classic)) {
      throw new UnsupportedOperationException(
          "kernels run in Spark's own process only, not through Spark Connect; make the session"
              + " with a master instead of a remote");
    }
    SparkSession session = classic.sparkSession();
    checkPlugin(session);
    LogicalPlan child = classic.queryExecution().analyzed();
    Columns of = new Columns(child, session);
    Map<String, ColumnType> types = new LinkedHashMap<>();
    for (String column : columns) {
      if (types.put(column, of.type(column)) != null) {
        throw new IllegalArgumentException("the column '" + column + "' is named twice");
      }
    }
    TypedKernel typed = TypedKernel.of(kernel, types);
    return org.apache.spark.sql.classic.Dataset.ofRows(session, plan(typed, child, of));
  }

  private static void checkPlugin(SparkSession session) {
    String plugins = session.sparkContext().conf().get("spark.plugins", "");
    if (!List.of(plugins.split("\\s*,\\s*")).contains(TidepoolPlugin.class.getName())) {
      throw new IllegalStateException(
          "the application has no Tidepool; start it with spark.plugins="
              + TidepoolPlugin.class.getName());
    }
  }

  private static LogicalPlan plan(TypedKernel kernel, LogicalPlan child, Columns of) {
    List<Attribute> inputs = new ArrayList<>();
    kernel.inputs().forEach(input -> inputs.add(of.attribute(input.name())));
    List<Attribute> results = new ArrayList<>();
    kernel.results().forEach(result -> results.add(attribute(result)));
    KernelNode node =
        new KernelNode(new KernelParts<>(kernel, Scala.seq(inputs), Scala.seq(results), child));

    List<NamedExpression> output = new ArrayList<>(Scala.list(child.output()));
    for (Attribute result : results) {
      of.checkResult(result.name(), kernel);
      // A new expression id, so that a dataset can be joined with itself.
      NamedExpression named =
          new Alias(
              result,
              result.name(),
              NamedExpression.newExprId(),
              Scala.seq(List.of()),
              Option.empty(),
              Scala.seq(List.of()));
      int replaced = of.place(result.name());
      if (replaced >= 0) {
        output.set(replaced, named);
      } else {
        output.add(named);
      }
    }
    return new Project(Scala.seq(output), node);
  }

  private static Attribute attribute(TypedKernel.Array result) {
    return new AttributeReference(
        result.name(),
        result.type().sparkType(),
        false,
        Metadata.empty(),
        NamedExpression.newExprId(),
        Scala.seq(List.of()));
  }
}
