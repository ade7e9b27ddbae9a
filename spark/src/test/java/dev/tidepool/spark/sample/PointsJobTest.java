package dev.tidepool.spark.sample;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.spark.TidepoolPlugin;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("The job of the guide")
class PointsJobTest {
  private static SparkSession session() {
    return SparkSession.builder()
        .master("local[2]")
        .config("spark.plugins", TidepoolPlugin.class.getName())
        .config("spark.tidepool.accelerator", "cpu")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate();
  }

  @Test
  @DisplayName("computes what it says")
  void computes(@TempDir Path folder) {
    String in = folder.resolve("in").toString();
    String out = folder.resolve("out").toString();
    session()
        .range(1000)
        .selectExpr("concat('point ', id) as name", "id / 500D - 1 as x", "0.25D as y")
        .write()
        .parquet(in);
    PointsJob.main(new String[] {in, out});
    SparkSession spark = session();
    try {
      assertThat(spark.read().parquet(out).columns())
          .containsExactly("name", "x", "y", "d", "steps");
      for (Row row : spark.read().parquet(out).collectAsList()) {
        double x = row.getDouble(1);
        double y = row.getDouble(2);
        int[] steps = new int[1];
        PointsJob.escape(0, 500, new double[] {x}, new double[] {y}, steps);
        assertThat(row.getDouble(3)).isEqualTo(2 * Math.sqrt(x * x + y * y));
        assertThat(row.getInt(4)).isEqualTo(steps[0]);
      }
    } finally {
      spark.stop();
    }
  }

  @Test
  @DisplayName("is the one that is printed there")
  void printed() throws Exception {
    String program =
        Files.readString(Path.of("src/test/java/dev/tidepool/spark/sample/PointsJob.java"));
    String body = program.substring(program.indexOf("import "));
    assertThat(Files.readString(Path.of("../docs/guide/spark.md")))
        .contains("```java\n" + body + "```");
  }
}
