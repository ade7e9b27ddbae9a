package dev.tidepool.spark;

import java.util.Map;
import org.apache.spark.sql.SparkSession;

/** Sessions of Spark for tests; one at a time in a process. */
final class LocalSpark {
  private LocalSpark() {}

  static SparkSession start(String master, Map<String, String> settings) {
    if (SparkSession.getDefaultSession().isDefined()) {
      throw new IllegalStateException("a test before this one left its session open");
    }
    SparkSession.Builder builder =
        SparkSession.builder()
            .master(master)
            .appName("test")
            .config("spark.plugins", TidepoolPlugin.class.getName())
            .config("spark.ui.enabled", "false")
            // Code that does not compile is an error, not a reason to do without.
            .config("spark.sql.codegen.fallback", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", "target/warehouse");
    settings.forEach(builder::config);
    return builder.getOrCreate();
  }
}
