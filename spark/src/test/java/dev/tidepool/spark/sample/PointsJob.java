package dev.tidepool.spark.sample;

import dev.tidepool.KernelMethod;
import dev.tidepool.spark.ColumnKernel;
import dev.tidepool.spark.TidepoolFunctions;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** Reads points with the columns x and y, and writes them with two more columns. */
public final class PointsJob {
  private PointsJob() {}

  /** Steps until the orbit of a point leaves the circle of radius 2. */
  @KernelMethod
  public static void escape(int i, int most, double[] x, double[] y, int[] steps) {
    double re = 0;
    double im = 0;
    int n = 0;
    while (n < most && re * re + im * im <= 4) {
      double next = re * re - im * im + x[i];
      im = 2 * re * im + y[i];
      re = next;
      n++;
    }
    steps[i] = n;
  }

  public static void main(String[] arguments) {
    SparkSession spark = SparkSession.builder().appName("points").getOrCreate();
    Dataset<Row> points = spark.read().parquet(arguments[0]);

    ColumnKernel distance = ColumnKernel.elementwise("d = scale * sqrt(x * x + y * y)");
    ColumnKernel escape = ColumnKernel.method(PointsJob.class, "escape");

    Dataset<Row> result =
        TidepoolFunctions.mapPartitions(points, distance.with("scale", 2.0), "x", "y");
    result = TidepoolFunctions.mapPartitions(result, escape.with("most", 500), "x", "y");
    result.write().parquet(arguments[1]);
    spark.stop();
  }
}
