package dev.tidepool.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.KernelMethod;
import dev.tidepool.UnifiedMemoryManager;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("A kernel over columns")
class TidepoolFunctionsTest {
  private static SparkSession spark;

  public static final class Kernels {
    private Kernels() {}

    /** Steps until the orbit of c leaves the circle, at most {@code most}. */
    @KernelMethod
    public static void escape(int i, int most, double[] re, double[] im, int[] steps) {
      double x = 0;
      double y = 0;
      int n = 0;
      while (n < most && x * x + y * y <= 4) {
        double next = x * x - y * y + re[i];
        y = 2 * x * y + im[i];
        x = next;
        n++;
      }
      steps[i] = n;
    }

    @KernelMethod
    public static void marks(int i, long[] number, boolean[] even) {
      if (number[i] % 2 == 0) {
        even[i] = true;
      }
    }
  }

  /** Calls of a function, of which Spark makes copies. */
  private static final AtomicLong READ = new AtomicLong();

  /** Rows that a task has let out. */
  private static final AtomicReference<Iterator<InternalRow>> KEPT = new AtomicReference<>();

  @BeforeAll
  static void start() {
    // Chunks of a few thousand rows, so that each partition has many.
    spark =
        LocalSpark.start(
            "local[2]",
            Map.of("spark.tidepool.accelerator", "cpu", "spark.tidepool.chunk-bytes", "64k"));
  }

  @AfterAll
  static void stop() {
    spark.stop();
  }

  private static Dataset<Row> numbers() {
    return spark
        .range(0, 50_000, 1, 3)
        .selectExpr("id", "cast(id as double) / 7 - 1000 as x", "concat('row ', id) as name");
  }

  private static void assertSame(Dataset<Row> ours, Dataset<Row> sql) {
    assertThat(ours.columns()).isEqualTo(sql.columns());
    List<Row> expected = sql.orderBy("id").collectAsList();
    List<Row> found = ours.orderBy("id").collectAsList();
    assertThat(found).hasSameSizeAs(expected);
    for (int i = 0; i < expected.size(); i++) {
      assertThat(bits(found.get(i))).isEqualTo(bits(expected.get(i)));
    }
  }

  /** The values of a row, with 0.0 other than -0.0. */
  private static List<Object> bits(Row row) {
    List<Object> values = new ArrayList<>();
    for (int i = 0; i < row.length(); i++) {
      Object value = row.get(i);
      values.add(value instanceof Double number ? Double.doubleToLongBits(number) : value);
    }
    return values;
  }

  @Test
  @DisplayName("equals plain Spark SQL bit for bit, with all other columns beside it")
  void equalsSql() {
    ColumnKernel kernel =
        ColumnKernel.elementwise("y = a * x * x - x / 3 + sqrt(x); z = x > 5").with("a", 2.5);
    assertSame(
        TidepoolFunctions.mapPartitions(numbers(), kernel, "x"),
        numbers().selectExpr("*", "2.5D * x * x - x / 3D + sqrt(x) as y", "x > 5D as z"));
  }

  @Test
  @DisplayName("treats infinities, NaN and -0.0 as Spark does")
  void specialValues() {
    Dataset<Row> special =
        spark.sql(
            "select * from values (0, 0D), (1, -0D), (2, double('NaN')), (3, double('Infinity')),"
                + " (4, double('-Infinity')), (5, 4.9E-324D), (6, -1D) as t(id, x)");
    assertSame(
        TidepoolFunctions.mapPartitions(
            special, ColumnKernel.elementwise("y = -x; z = x * 0; r = sqrt(x)"), "x"),
        special.selectExpr("*", "-x as y", "x * 0 as z", "sqrt(x) as r"));
    assertSame(
        TidepoolFunctions.mapPartitions(
            special,
            ColumnKernel.elementwise(
                "eq = x == x; ge = x >= x; gt = x > 5; lt = 5 < x; ne = x != x"),
            "x"),
        special.selectExpr(
            "*",
            "not isnan(x) and x = x as eq",
            "not isnan(x) and x >= x as ge",
            "not isnan(x) and x > 5 as gt",
            "not isnan(x) and 5 < x as lt",
            "isnan(x) or x != x as ne"));
  }

  @Test
  @DisplayName("takes a square root in the type of the column, where Spark SQL gives a double")
  void squareRoots() {
    Dataset<Row> narrow =
        spark
            .range(0, 100, 1, 1)
            .selectExpr("id", "cast(id / 7D as float) as f", "cast(id as tinyint) as b");
    assertSame(
        TidepoolFunctions.mapPartitions(
            narrow, ColumnKernel.elementwise("r = sqrt(f); q = sqrt(b)"), "f", "b"),
        narrow.selectExpr("*", "cast(sqrt(f) as float) as r", "cast(sqrt(b) as float) as q"));
  }

  @Test
  @DisplayName("takes and gives every primitive type")
  void types() {
    Dataset<Row> all =
        spark
            .range(-500, 500, 1, 2)
            .selectExpr(
                "id",
                "id % 2 = 0 as flag",
                "cast(id % 100 as tinyint) as b",
                "cast(id as smallint) as s",
                "cast(id as int) as i",
                "cast(id / 3D as float) as f",
                "cast(id as double) / 3 as d");
    Dataset<Row> ours =
        TidepoolFunctions.mapPartitions(
            all,
            ColumnKernel.elementwise(
                "id2 = -id; flag2 = flag == (i > 3); b2 = -b; s2 = -s; i2 = i * 3; f2 = f * f;"
                    + " d2 = d / 7"),
            "id",
            "flag",
            "b",
            "s",
            "i",
            "f",
            "d");
    assertSame(
        ours,
        all.selectExpr(
            "*",
            "-id as id2",
            "flag = (i > 3) as flag2",
            "-b as b2",
            "-s as s2",
            "i * 3 as i2",
            "f * f as f2",
            "d / 7D as d2"));
    assertThat(List.of(ours.schema().fields()))
        .extracting(field -> field.dataType())
        .endsWith(
            DataTypes.LongType,
            DataTypes.BooleanType,
            DataTypes.ByteType,
            DataTypes.ShortType,
            DataTypes.IntegerType,
            DataTypes.FloatType,
            DataTypes.DoubleType);
  }

  @Test
  @DisplayName("may be a Java method")
  void method() {
    Dataset<Row> points =
        spark
            .range(0, 10_000, 1, 2)
            .selectExpr("id", "(id % 100) / 40D - 2 as re", "floor(id / 100) / 50D - 1 as im");
    List<Row> rows =
        TidepoolFunctions.mapPartitions(
                points, ColumnKernel.method(Kernels.class, "escape").with("most", 200), "re", "im")
            .collectAsList();
    assertThat(rows).hasSize(10_000);
    for (Row row : rows) {
      int[] steps = new int[1];
      Kernels.escape(
          0, 200, new double[] {row.getDouble(1)}, new double[] {row.getDouble(2)}, steps);
      assertThat(row.getInt(3)).isEqualTo(steps[0]);
    }
  }

  @Test
  @DisplayName("has zeros where a method writes nothing")
  void cleared() {
    Dataset<Row> ours =
        TidepoolFunctions.mapPartitions(
            numbers().withColumnRenamed("id", "number"),
            ColumnKernel.method(Kernels.class, "marks"),
            "number");
    assertThat(ours.where("even <> (number % 2 = 0)").count()).isZero();
    assertThat(ours.where("even").count()).isEqualTo(25_000);
  }

  @Test
  @DisplayName("puts a result in the place of the column of its name")
  void replaced() {
    assertSame(
        TidepoolFunctions.mapPartitions(numbers(), ColumnKernel.elementwise("x = x * 2"), "x"),
        numbers().withColumn("x", functions.expr("x * 2")));
  }

  @Test
  @DisplayName("gives only the results that are asked for")
  void someResults() {
    ColumnKernel kernel = ColumnKernel.elementwise("t = x * x; y = t + 1").results("y");
    assertThat(TidepoolFunctions.mapPartitions(numbers(), kernel, "x").columns())
        .containsExactly("id", "x", "name", "y");
  }

  @Test
  @DisplayName("is a dataset as others: joined with itself, filtered, grouped")
  void queries() {
    Dataset<Row> ours =
        TidepoolFunctions.mapPartitions(numbers(), ColumnKernel.elementwise("y = 2 * x"), "x");
    Dataset<Row> joined = ours.as("a").join(ours.as("b"), "id").where("a.y = 2 * b.x");
    assertThat(joined.count()).isEqualTo(50_000);
    assertThat(ours.groupBy("name").sum("y").count()).isEqualTo(50_000);
    assertThat(ours.where("y > 0").count()).isEqualTo(numbers().where("x > 0").count());
    assertThat(ours.limit(10).collectAsList()).hasSize(10);
    assertThat(ours.cache().count()).isEqualTo(50_000);
    assertThat(ours.selectExpr("sum(y)").first().getDouble(0)).isFinite();
    ours.unpersist();
  }

  @Test
  @DisplayName("makes Spark read no column that nobody needs")
  void pruned() {
    Dataset<Row> sum =
        TidepoolFunctions.mapPartitions(numbers(), ColumnKernel.elementwise("y = 2 * x"), "x")
            .selectExpr("sum(y)");
    String plan =
        ((org.apache.spark.sql.classic.Dataset<Row>) sum)
            .queryExecution()
            .optimizedPlan()
            .toString();
    assertThat(plan).contains("KernelNode").doesNotContain("name");
  }

  @Test
  @DisplayName("is shown by its text in the physical plan")
  void shown() {
    Dataset<Row> ours =
        TidepoolFunctions.mapPartitions(numbers(), ColumnKernel.elementwise("y = 2 * x"), "x");
    String plan =
        ((org.apache.spark.sql.classic.Dataset<Row>) ours)
            .queryExecution()
            .executedPlan()
            .toString();
    assertThat(plan)
        .contains("KernelOutput", "TidepoolKernel y = 2 * x", "KernelInput\n")
        .doesNotContain("StructField");
  }

  @Test
  @DisplayName("computes the same where Spark generates no code")
  void interpreted() {
    spark.conf().set("spark.sql.codegen.wholeStage", "false");
    try {
      assertSame(
          TidepoolFunctions.mapPartitions(numbers(), ColumnKernel.elementwise("y = 2 * x"), "x"),
          numbers().selectExpr("*", "2D * x as y"));
    } finally {
      spark.conf().unset("spark.sql.codegen.wholeStage");
    }
  }

  @Test
  @DisplayName("runs over no rows at all")
  void empty() {
    Dataset<Row> none = numbers().where("id < 0");
    assertThat(
            TidepoolFunctions.mapPartitions(none, ColumnKernel.elementwise("y = 2 * x"), "x")
                .collectAsList())
        .isEmpty();
  }

  @Test
  @DisplayName("fails with the name of a column that has a null")
  void nulls() {
    Dataset<Row> holes = numbers().withColumn("x", functions.expr("if(id = 77, null, x)"));
    Dataset<Row> ours =
        TidepoolFunctions.mapPartitions(holes, ColumnKernel.elementwise("y = 2 * x"), "x");
    assertThatThrownBy(ours::count)
        .hasStackTraceContaining("IllegalArgumentException")
        .hasStackTraceContaining("the column 'x' has a null")
        .hasStackTraceContaining("na().drop(new String[] {\"x\"})");
    Dataset<Row> full = holes.na().drop(new String[] {"x"});
    assertThat(
            TidepoolFunctions.mapPartitions(full, ColumnKernel.elementwise("y = 2 * x"), "x")
                .count())
        .isEqualTo(49_999);
  }

  @Test
  @DisplayName("keeps nulls of columns that it does not read")
  void otherNulls() {
    Dataset<Row> holes = numbers().withColumn("name", functions.expr("if(id = 77, null, name)"));
    Dataset<Row> ours =
        TidepoolFunctions.mapPartitions(holes, ColumnKernel.elementwise("y = 2 * x"), "x");
    assertThat(ours.where("name is null").select("id").first().getLong(0)).isEqualTo(77);
  }

  @Test
  @DisplayName("keeps columns of types that Spark's column vectors refuse")
  void refusedTypes() {
    Dataset<Row> odd =
        numbers()
            .selectExpr(
                "*",
                "null as nothing",
                "if(id % 3 = 0, null, array(null, null)) as nothings",
                "concat('Row ', id) collate UNICODE_CI as text",
                "named_struct('text', name collate UNICODE_CI, 'nothing', null) as both");
    ColumnKernel kernel = ColumnKernel.elementwise("y = 2 * x");
    assertSame(
        TidepoolFunctions.mapPartitions(odd, kernel, "x"), odd.selectExpr("*", "2D * x as y"));
    assertThat(TidepoolFunctions.mapPartitions(odd, kernel, "x").where("text = 'row 7'").count())
        .isEqualTo(1);
  }

  @Test
  @DisplayName("keeps times of the day, which Spark's column vectors refuse")
  void times() {
    String allowed = "spark.sql.timeType.enabled";
    spark.conf().set(allowed, "true");
    try {
      Dataset<Row> clocks =
          numbers()
              .selectExpr(
                  "*",
                  "cast('12:34:56.789' as time) as clock",
                  "if(id % 3 = 0, null, array(cast('01:02:03' as time))) as clocks");
      ColumnKernel kernel = ColumnKernel.elementwise("y = 2 * x");
      assertSame(
          TidepoolFunctions.mapPartitions(clocks, kernel, "x"),
          clocks.selectExpr("*", "2D * x as y"));
    } finally {
      spark.conf().unset(allowed);
    }
  }

  @Test
  @DisplayName("is computed in whichever session of the application uses it")
  void otherSession() throws Exception {
    TidepoolFunctions.mapPartitions(numbers(), ColumnKernel.elementwise("y = 2 * x"), "x")
        .createGlobalTempView("doubled");
    assertSame(
        spark.newSession().table("global_temp.doubled"), numbers().selectExpr("*", "2D * x as y"));
  }

  @Test
  @DisplayName("computes no chunk beyond a limit")
  void limited() {
    READ.set(0);
    UDF1<Long, Double> counted = _ -> (double) READ.incrementAndGet();
    Dataset<Row> many =
        spark
            .range(0, 100_000, 1, 1)
            .withColumn(
                "x", functions.udf(counted, DataTypes.DoubleType).apply(functions.col("id")));
    Row sum =
        TidepoolFunctions.mapPartitions(many, ColumnKernel.elementwise("y = 2 * x"), "x")
            .limit(5)
            .agg(functions.sum("y"))
            .first();
    assertThat(sum.getDouble(0)).isEqualTo(2 + 4 + 6 + 8 + 10);
    assertThat(READ.get()).isLessThan(10_000);
  }

  @Test
  @DisplayName("is refused if two of its results would be one column")
  void resultsOfOneName() {
    ColumnKernel kernel = ColumnKernel.elementwise("d = 2 * x; D = 3 * x");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TidepoolFunctions.mapPartitions(numbers(), kernel, "x"))
        .withMessageContaining("'d' and 'D' would be one column");
    Dataset<Row> twice = numbers().selectExpr("*", "1 as y", "2 as Y");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                TidepoolFunctions.mapPartitions(twice, ColumnKernel.elementwise("y = 2 * x"), "x"))
        .withMessageContaining("has 2 columns 'y'");
    spark.conf().set("spark.sql.caseSensitive", "true");
    try {
      assertThat(TidepoolFunctions.mapPartitions(numbers(), kernel, "x").columns())
          .containsExactly("id", "x", "name", "d", "D");
    } finally {
      spark.conf().unset("spark.sql.caseSensitive");
    }
  }

  @Test
  @DisplayName("is refused before anything runs where a name means nothing")
  void refused() {
    ColumnKernel kernel = ColumnKernel.elementwise("y = scale * x");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TidepoolFunctions.mapPartitions(numbers(), kernel, "x"))
        .withMessageContaining(
            "reads 'scale', which is neither a scalar nor one of the columns [x]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TidepoolFunctions.mapPartitions(numbers(), kernel.with("sclae", 2), "x"))
        .withMessageContaining("did you mean 'sclae'?");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                TidepoolFunctions.mapPartitions(
                    numbers(), kernel.with("scale", 2).with("scal", 2), "x"))
        .withMessageContaining("takes no scalar 'scal'; did you mean 'scale'?");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TidepoolFunctions.mapPartitions(numbers(), kernel.with("scale", 2), "q"))
        .withMessageContaining("no column 'q'; its columns are [id, x, name]");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> TidepoolFunctions.mapPartitions(numbers(), kernel.with("scale", 2), "x", "id"))
        .withMessageContaining("does not read the column 'id'; leave it out");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> TidepoolFunctions.mapPartitions(numbers(), kernel.with("scale", 2), "name"))
        .withMessageContaining("the column 'name' is of type STRING");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                TidepoolFunctions.mapPartitions(
                    numbers(), kernel.with("scale", 2).results("z"), "x"))
        .withMessageContaining("does not write the result 'z'");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                TidepoolFunctions.mapPartitions(
                    numbers().selectExpr("cast(x as float) as re", "x as im"),
                    ColumnKernel.method(Kernels.class, "escape").with("most", 9),
                    "re",
                    "im"))
        .withMessageContaining("takes 're' as DOUBLE, but the column is FLOAT; cast the column");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ColumnKernel.method(Kernels.class, "missing"));
  }

  @Test
  @DisplayName("leaves no buffer when its tasks have ended, however they did")
  void noLeaks() {
    Dataset<Row> holes = numbers().withColumn("x", functions.expr("if(id = 49999, null, x)"));
    ColumnKernel kernel = ColumnKernel.elementwise("y = 2 * x");
    assertThatThrownBy(() -> TidepoolFunctions.mapPartitions(holes, kernel, "x").count())
        .hasStackTraceContaining("has a null");
    TidepoolFunctions.mapPartitions(numbers(), kernel, "x").limit(1).collectAsList();
    TidepoolFunctions.mapPartitions(numbers(), kernel, "x").coalesce(1).count();
    assertThat(ExecutorSession.current().tidepool().memory().buffers()).isEmpty();
  }

  @Test
  @DisplayName("gives no rows after the end of the task, and leaves no buffer then")
  void readTooLate() {
    Dataset<Row> numbers = spark.range(0, 50_000, 1, 1).selectExpr("double(id) as x");
    TidepoolFunctions.mapPartitions(numbers, ColumnKernel.elementwise("y = 2 * x"), "x")
        .queryExecution()
        .toRdd()
        .toJavaRDD()
        .foreachPartition(
            rows -> {
              assertThat(rows.hasNext()).isTrue();
              KEPT.set(rows);
            });
    assertThatIllegalStateException()
        .isThrownBy(() -> KEPT.get().forEachRemaining(_ -> {}))
        .withMessageContaining("the task has ended");
    assertThat(ExecutorSession.current().tidepool().memory().buffers()).isEmpty();
  }

  @Test
  @DisplayName("leaves no buffer when its job is cancelled")
  void cancelled() throws Exception {
    UDF1<Long, Double> slow =
        id -> {
          Thread.sleep(id % 1000 == 0 ? 10 : 0);
          return id / 7.0;
        };
    Dataset<Row> endless =
        spark
            .range(0, 1_000_000_000, 1, 2)
            .withColumn("x", functions.udf(slow, DataTypes.DoubleType).apply(functions.col("id")));
    Dataset<Row> ours =
        TidepoolFunctions.mapPartitions(endless, ColumnKernel.elementwise("y = 2 * x"), "x");
    CompletableFuture<Long> job = CompletableFuture.supplyAsync(() -> ours.where("y < 0").count());
    UnifiedMemoryManager memory = ExecutorSession.current().tidepool().memory();
    while (memory.buffers().isEmpty() && !job.isDone()) {
      Thread.sleep(10);
    }
    spark.sparkContext().cancelAllJobs();
    assertThatThrownBy(job::get).hasStackTraceContaining("cancelled");
    // The job is told before its tasks have ended.
    for (int i = 0; i < 6000 && !memory.buffers().isEmpty(); i++) {
      Thread.sleep(10);
    }
    assertThat(memory.buffers()).isEmpty();
  }
}
