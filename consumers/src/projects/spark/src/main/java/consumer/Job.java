package consumer;

import dev.tidepool.spark.ColumnKernel;
import dev.tidepool.spark.TidepoolFunctions;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** Computes a column with a kernel. */
public final class Job {
  private Job() {}

  public static void main(String[] arguments) {
    SparkSession spark =
        SparkSession.builder()
            .master("local[1]")
            .config("spark.plugins", "dev.tidepool.spark.TidepoolPlugin")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .getOrCreate();
    Dataset<Row> numbers = spark.range(0, 1000, 1, 1).selectExpr("id", "id / 2D as x");
    ColumnKernel square = ColumnKernel.elementwise("y = x * x");
    long right = TidepoolFunctions.mapPartitions(numbers, square, "x").where("y = x * x").count();
    spark.stop();
    if (right != 1000) {
      throw new AssertionError(right + " of 1000 rows are right");
    }
  }
}
