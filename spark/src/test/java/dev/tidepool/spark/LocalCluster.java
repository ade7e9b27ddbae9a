package dev.tidepool.spark;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.spi.ToolProvider;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/** Spark with executors that are processes of their own. */
final class LocalCluster {
  private LocalCluster() {}

  /**
   * Starts a cluster whose workers have devices.
   *
   * @param executors how many there are, with one core each
   * @param addresses what the discovery script of each worker prints
   */
  static SparkSession start(
      String master,
      int executors,
      Path folder,
      List<Integer> addresses,
      Map<String, String> further)
      throws IOException {
    Map<String, String> settings = new HashMap<>();
    settings.put("spark.executor.cores", "1");
    settings.put("spark.executor.memory", "1g");
    settings.put("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
    settings.put("spark.worker.resource.gpu.amount", String.valueOf(addresses.size()));
    settings.put(
        "spark.worker.resource.gpu.discoveryScript", discovery(folder, addresses).toString());
    settings.put("spark.executor.resource.gpu.amount", "1");
    settings.put("spark.task.resource.gpu.amount", "1");
    // As spark-submit --jars does.
    settings.put("spark.jars", jars(folder));
    // No task starts before all executors are there.
    settings.put("spark.cores.max", String.valueOf(executors));
    settings.put("spark.scheduler.minRegisteredResourcesRatio", "1.0");
    settings.put("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s");
    settings.put("spark.locality.wait", "0s");
    settings.putAll(further);
    return LocalSpark.start(master, settings);
  }

  private static Path discovery(Path folder, List<Integer> addresses) throws IOException {
    List<String> quoted = addresses.stream().map(each -> "\"" + each + "\"").toList();
    Path script = folder.resolve("devices.sh");
    Files.writeString(
        script,
        "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": ["
            + String.join(", ", quoted)
            + "]}'\n",
        UTF_8);
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr--r--"));
    return script;
  }

  /**
   * Links jars of this class path into Spark's home, and packs the project's own code into others.
   * Executors get those of the first kind with Spark, as a cluster has it, and those of the second
   * from the job.
   *
   * @return the jars of the job
   */
  private static String jars(Path folder) throws IOException {
    Path home = Path.of(System.getenv("SPARK_HOME"), "jars");
    Files.createDirectories(home);
    try (var old = Files.list(home)) {
      for (Path link : old.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(link);
      }
    }
    List<String> own = new ArrayList<>();
    int number = 0;
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
      Path path = Path.of(entry).toAbsolutePath();
      if (Files.isDirectory(path)) {
        own.add(packed(path, folder.resolve("classes-" + number++ + ".jar")).toString());
      } else if (path.getFileName().toString().startsWith("tidepool-")) {
        own.add(path.toString());
      } else if (Files.exists(path)) {
        Files.createSymbolicLink(home.resolve(number++ + "-" + path.getFileName()), path);
      }
    }
    return String.join(",", own);
  }

  private static Path packed(Path classes, Path jar) {
    int status =
        ToolProvider.findFirst("jar")
            .orElseThrow()
            .run(System.out, System.err, "-c0f", jar.toString(), "-C", classes.toString(), ".");
    assertThat(status).isZero();
    return jar;
  }

  /** The accelerators of tasks, by the executors that ran them. */
  static Map<String, String> devices(SparkSession spark) {
    Map<String, String> devices = new TreeMap<>();
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    List<Integer> numbers = IntStream.range(0, 8).boxed().toList();
    context
        .parallelize(numbers, 8)
        .map(LocalCluster::device)
        .collect()
        .forEach(found -> devices.merge(found._1(), found._2(), LocalCluster::both));
    return devices;
  }

  private static String both(String one, String other) {
    return one.equals(other) ? one : one + " and " + other;
  }

  private static Tuple2<String, String> device(int number) throws InterruptedException {
    // Long enough that no executor runs all of them.
    Thread.sleep(100);
    TaskContext task = TaskContext.get();
    return new Tuple2<>(
        SparkEnv.get().executorId(), ExecutorSession.current().memory(task).accelerator().id());
  }

  /** The processes of executors. */
  static List<ProcessHandle> executors() {
    return ProcessHandle.current()
        .descendants()
        .filter(
            process ->
                process.info().commandLine().orElse("").contains("CoarseGrainedExecutorBackend"))
        .toList();
  }
}
