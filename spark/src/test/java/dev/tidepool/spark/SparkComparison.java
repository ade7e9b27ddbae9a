package dev.tidepool.spark;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Kernels on the processor against plain Spark SQL on the same cores. Both compute one formula over
 * one column, and the sum of the results, which must be equal. Rows come from {@code range}, the
 * cheapest source that there is. The runs of both alternate.
 *
 * <p>Prints medians of the time of a row, and of the processors' time of a row divided by their
 * number, which other work on the machine disturbs less.
 *
 * <p>No test by its name, so that only {@code -Dtest=SparkComparison} runs it. {@code
 * tidepool.benchmark.rows} are millions of rows (20), {@code tidepool.benchmark.runs} the runs of
 * each (7).
 */
class SparkComparison {
  private static final OperatingSystemMXBean SYSTEM =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
  private static final int CORES = 2;
  private static final int WARMUPS = 3;

  private final long rows = Integer.getInteger("tidepool.benchmark.rows", 20) * 1_000_000L;
  private final int runs = Integer.getInteger("tidepool.benchmark.runs", 7);
  private SparkSession spark;
  private Dataset<Row> numbers;

  /** Seconds of one run. */
  private record Times(double wall, double processors) {}

  @BeforeEach
  void start() {
    spark = LocalSpark.start("local[" + CORES + "]", Map.of("spark.tidepool.accelerator", "cpu"));
    numbers = spark.range(0, rows, 1, 4).selectExpr("id / " + rows + "D as x");
  }

  @AfterEach
  void stop() {
    spark.stop();
  }

  @Test
  void comparesWithSql() {
    expression("2 operations", "2.5D * x + 1D");
    for (int degree : new int[] {10, 25, 50, 100}) {
      expression(2 * degree + " operations", polynomial(degree));
    }
    expression("exp, sin, log, sqrt", "exp(-x) * sin(3D * x) + ln(x + 1D) * sqrt(x)");
  }

  /** Horner's scheme: a multiplication and an addition for each degree. */
  private static String polynomial(int degree) {
    StringBuilder text = new StringBuilder("0.5D");
    for (int i = degree; i > 0; i--) {
      text.insert(0, '(').append(" * x + ").append(1.0 / i).append("D)");
    }
    return text.toString();
  }

  private void expression(String name, String sql) {
    String kernel = sql.replaceAll("(\\d)D", "$1").replace("ln(", "log(");
    compare(name, ColumnKernel.elementwise("y = " + kernel), sql);
  }

  private void compare(String name, ColumnKernel kernel, String sql) {
    // Datasets are made again for each run: Spark keeps what one has shuffled.
    Supplier<Dataset<Row>> ours =
        () -> TidepoolFunctions.mapPartitions(numbers, kernel, "x").selectExpr("sum(y)");
    Supplier<Dataset<Row>> plain = () -> numbers.selectExpr("sum(" + sql + ")");
    checkEqual(ours.get().first().getDouble(0), plain.get().first().getDouble(0));
    List<Times> oursTimes = new ArrayList<>();
    List<Times> plainTimes = new ArrayList<>();
    for (int i = 0; i < WARMUPS + runs; i++) {
      plainTimes.add(time(plain));
      oursTimes.add(time(ours));
    }
    Times a = medians(plainTimes);
    Times b = medians(oursTimes);
    System.out.printf(
        Locale.ROOT,
        "%-22s  ns of a row: plain %6.1f, kernel %6.1f: %5.2f times   processors: %6.1f, %6.1f:"
            + " %5.2f times%n",
        name,
        a.wall,
        b.wall,
        a.wall / b.wall,
        a.processors,
        b.processors,
        a.processors / b.processors);
  }

  private static void checkEqual(double ours, double plain) {
    // Functions may differ in the last places.
    if (Math.abs(ours - plain) > 1e-9 * Math.abs(plain)) {
      throw new IllegalStateException("the kernel's sum is " + ours + ", that of SQL " + plain);
    }
  }

  private static Times time(Supplier<Dataset<Row>> query) {
    long processors = SYSTEM.getProcessCpuTime();
    long start = System.nanoTime();
    query.get().first();
    return new Times(
        (System.nanoTime() - start) / 1e9, (SYSTEM.getProcessCpuTime() - processors) / 1e9);
  }

  /** Nanoseconds of a row, without the first runs. */
  private Times medians(List<Times> all) {
    List<Times> measured = all.subList(WARMUPS, all.size());
    return new Times(
        median(measured.stream().mapToDouble(Times::wall).toArray()) * 1e9 / rows,
        median(measured.stream().mapToDouble(Times::processors).toArray()) * 1e9 / rows / CORES);
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }
}
