package dev.tidepool.benchmarks;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;
import org.openjdk.jmh.util.Statistics;

/**
 * Runs benchmark classes with JMH in rounds: within a round, all methods of a class follow each
 * other for one set of parameters before the next set comes. On a machine whose speed drifts both
 * sides of a comparison thus meet the same weather. Prints the median, least and greatest of all
 * iterations, and for each comparison the median of the rounds' ratios.
 */
public final class Rounds {
  /**
   * Two methods of one class.
   *
   * @param ours Tidepool's
   * @param peer what it is held against
   */
  private record Comparison(String ours, String peer) {}

  private static final String[] JVM_OPTIONS = {
    "--enable-native-access=ALL-UNNAMED",
    // Arrow's allocator wants it.
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "-Xms1g",
    "-Xmx1g",
    // Netty's blocks count against it.
    "-XX:MaxDirectMemorySize=8g"
  };

  private static final List<Class<?>> CLASSES =
      List.of(
          ElementwiseBenchmark.class,
          TransferBenchmark.class,
          SmallTransfersBenchmark.class,
          TransferSubmitBenchmark.class,
          HostAccessBenchmark.class,
          DeviceAllocationBenchmark.class,
          HostAllocationBenchmark.class,
          HostWriteBenchmark.class,
          PoolMissBenchmark.class,
          HolesBenchmark.class,
          SharedBufferBenchmark.class,
          MemoryOperationsBenchmark.class,
          LayoutBenchmark.class,
          SpillBenchmark.class,
          FullMemoryBenchmark.class,
          DefragmentationBenchmark.class,
          DiagnosticsBenchmark.class,
          SnapshotBenchmark.class,
          ObjectPoolBenchmark.class,
          ObjectPoolVirtualThreadsBenchmark.class,
          ArrayPoolBenchmark.class);

  /** Those that are run by one thread, and then by two at the same time. */
  private static final Set<Class<?>> CONCURRENT =
      Set.of(HostAllocationBenchmark.class, HolesBenchmark.class);

  private static final String THREADS = "threads";

  /** What the profiler calls the bytes of garbage that one operation makes. */
  private static final String GARBAGE = "gc.alloc.rate.norm";

  private static final double[] PERCENTILES = {50, 99, 99.9};

  private static final List<Comparison> COMPARISONS =
      List.of(
          new Comparison("ElementwiseBenchmark.affine", "ElementwiseBenchmark.affineBytes"),
          new Comparison("ElementwiseBenchmark.axpy", "ElementwiseBenchmark.axpyBytes"),
          new Comparison("TransferBenchmark.arrayIn", "TransferBenchmark.bareWrite"),
          new Comparison("TransferBenchmark.pinnedIn", "TransferBenchmark.bareWrite"),
          new Comparison("TransferBenchmark.arrayOut", "TransferBenchmark.bareRead"),
          new Comparison("TransferBenchmark.pinnedOut", "TransferBenchmark.bareRead"),
          new Comparison("SmallTransfersBenchmark.list", "SmallTransfersBenchmark.bareArrays"),
          new Comparison("SmallTransfersBenchmark.list", "SmallTransfersBenchmark.bareWrites"),
          new Comparison(
              "SmallTransfersBenchmark.background", "SmallTransfersBenchmark.bareWrites"),
          new Comparison("SmallTransfersBenchmark.oneByOne", "SmallTransfersBenchmark.bareWrites"),
          new Comparison(
              "DeviceAllocationBenchmark.pooledTouched", "DeviceAllocationBenchmark.driverTouched"),
          new Comparison(
              "DeviceAllocationBenchmark.pooled", "DeviceAllocationBenchmark.driverTouched"),
          new Comparison(
              "DeviceAllocationBenchmark.pooled", "DeviceAllocationBenchmark.unpooledTouched"),
          new Comparison(
              "DeviceAllocationBenchmark.pooledTouched",
              "DeviceAllocationBenchmark.unpooledTouched"),
          new Comparison("HostAllocationBenchmark.pooled", "HostAllocationBenchmark.malloc"),
          new Comparison("HostAllocationBenchmark.pooled", "HostAllocationBenchmark.arena"),
          new Comparison("HostAllocationBenchmark.pooled", "HostAllocationBenchmark.nettyAdaptive"),
          new Comparison("HostAllocationBenchmark.pooled", "HostAllocationBenchmark.nettyPooled"),
          new Comparison("HostAllocationBenchmark.pooled", "HostAllocationBenchmark.arrow"),
          new Comparison("HostWriteBenchmark.pooled", "HostWriteBenchmark.malloc"),
          new Comparison(
              "SharedBufferBenchmark.openAndClose", "SharedBufferBenchmark.bareMapAndUnmap"),
          new Comparison("SharedBufferBenchmark.sumShared", "SharedBufferBenchmark.sumAlone"),
          new Comparison("SharedBufferBenchmark.copyInShared", "SharedBufferBenchmark.copyInAlone"),
          new Comparison("SharedBufferBenchmark.kernelShared", "SharedBufferBenchmark.kernelAlone"),
          new Comparison("HostWriteBenchmark.pooled", "HostWriteBenchmark.arena"),
          new Comparison("HostWriteBenchmark.pooled", "HostWriteBenchmark.hugePages"),
          new Comparison("HostWriteBenchmark.pooled", "HostWriteBenchmark.nettyAdaptive"),
          new Comparison("HolesBenchmark.pooled", "HolesBenchmark.nettyAdaptive"),
          new Comparison("HolesBenchmark.pooled", "HolesBenchmark.malloc"),
          new Comparison("SpillBenchmark.spill", "SpillBenchmark.disk"),
          new Comparison("SpillBenchmark.hostTier", "SpillBenchmark.plainCopy"),
          new Comparison("DefragmentationBenchmark.defragment", "DefragmentationBenchmark.copies"),
          new Comparison("MemoryOperationsBenchmark.copy", "MemoryOperationsBenchmark.memcpy"),
          new Comparison("MemoryOperationsBenchmark.fill", "MemoryOperationsBenchmark.memset"),
          new Comparison("MemoryOperationsBenchmark.fillLongs", "MemoryOperationsBenchmark.memset"),
          new Comparison(
              "MemoryOperationsBenchmark.intToFloat", "MemoryOperationsBenchmark.memcpy"),
          new Comparison("MemoryOperationsBenchmark.swapInts", "MemoryOperationsBenchmark.memcpy"),
          new Comparison(
              "MemoryOperationsBenchmark.floatToDouble",
              "MemoryOperationsBenchmark.memcpyLikeFloatToDouble"),
          new Comparison(
              "MemoryOperationsBenchmark.doubleToFloat",
              "MemoryOperationsBenchmark.memcpyLikeFloatToDouble"),
          new Comparison(
              "MemoryOperationsBenchmark.byteToFloat",
              "MemoryOperationsBenchmark.memcpyLikeByteToFloat"),
          new Comparison("ObjectPoolBenchmark.tidepool1", "ObjectPoolBenchmark.stormpot1"),
          new Comparison("ObjectPoolBenchmark.tidepool1", "ObjectPoolBenchmark.stormpotForEver1"),
          new Comparison("ObjectPoolBenchmark.tidepool1", "ObjectPoolBenchmark.commons1"),
          new Comparison("ObjectPoolBenchmark.tidepool1", "ObjectPoolBenchmark.fast1"),
          new Comparison("ObjectPoolBenchmark.tidepool1", "ObjectPoolBenchmark.plain1"),
          new Comparison("ObjectPoolBenchmark.tidepoolLease1", "ObjectPoolBenchmark.stormpot1"),
          new Comparison("ObjectPoolBenchmark.tidepool2", "ObjectPoolBenchmark.stormpot2"),
          new Comparison("ObjectPoolBenchmark.tidepool2", "ObjectPoolBenchmark.stormpotForEver2"),
          new Comparison("ObjectPoolBenchmark.tidepool2", "ObjectPoolBenchmark.commons2"),
          new Comparison("ObjectPoolBenchmark.tidepool2", "ObjectPoolBenchmark.fast2"),
          new Comparison("ObjectPoolBenchmark.tidepool2", "ObjectPoolBenchmark.plain2"),
          new Comparison("ObjectPoolBenchmark.tidepoolLease2", "ObjectPoolBenchmark.stormpot2"),
          new Comparison(
              "ObjectPoolVirtualThreadsBenchmark.tidepool",
              "ObjectPoolVirtualThreadsBenchmark.stormpot"),
          new Comparison(
              "ObjectPoolVirtualThreadsBenchmark.tidepool",
              "ObjectPoolVirtualThreadsBenchmark.stormpotForVirtual"),
          new Comparison(
              "ObjectPoolVirtualThreadsBenchmark.tidepool",
              "ObjectPoolVirtualThreadsBenchmark.commons"),
          new Comparison(
              "ObjectPoolVirtualThreadsBenchmark.tidepool",
              "ObjectPoolVirtualThreadsBenchmark.fast"),
          new Comparison(
              "ObjectPoolVirtualThreadsBenchmark.tidepool",
              "ObjectPoolVirtualThreadsBenchmark.plain"),
          new Comparison("ArrayPoolBenchmark.pooled1", "ArrayPoolBenchmark.plain1"),
          new Comparison("ArrayPoolBenchmark.cleared1", "ArrayPoolBenchmark.plain1"),
          new Comparison("ArrayPoolBenchmark.pooled2", "ArrayPoolBenchmark.plain2"),
          new Comparison("ArrayPoolBenchmark.cleared2", "ArrayPoolBenchmark.plain2"));

  /** By parameters, then method: the medians of the rounds. */
  private final Map<String, Map<String, List<Double>>> rounds = new TreeMap<>();

  private final Map<String, Map<String, List<Double>>> iterations = new TreeMap<>();
  private final Map<String, Map<String, List<Double>>> garbage = new TreeMap<>();

  /**
   * By parameters, then method: the percentiles of each round, where single operations are timed.
   */
  private final Map<String, Map<String, List<double[]>>> percentiles = new TreeMap<>();

  private Rounds() {}

  /** Arguments: how many rounds, then the names of classes, or none for all. */
  public static void main(String[] arguments) throws RunnerException {
    int count = Integer.parseInt(arguments[0]);
    List<String> names = List.of(arguments).subList(1, arguments.length);
    Rounds rounds = new Rounds();
    for (int round = 1; round <= count; round++) {
      for (Class<?> type : CLASSES) {
        if (names.isEmpty() || names.contains(type.getSimpleName())) {
          System.err.println("round " + round + " of " + count + ": " + type.getSimpleName());
          for (Map<String, String> parameters : combinations(type)) {
            rounds.run(type, parameters);
          }
        }
      }
    }
    rounds.print();
  }

  private void run(Class<?> type, Map<String, String> parameters) throws RunnerException {
    ChainedOptionsBuilder options =
        new OptionsBuilder()
            .include("\\." + type.getSimpleName() + "\\.")
            .jvmArgsAppend(JVM_OPTIONS)
            .timeUnit(TimeUnit.NANOSECONDS)
            .addProfiler(GCProfiler.class)
            .shouldFailOnError(true)
            .verbosity(VerboseMode.SILENT);
    parameters.forEach(
        (name, value) -> {
          if (name.equals(THREADS)) {
            options.threads(Integer.parseInt(value));
          } else {
            options.param(name, value);
          }
        });
    Collection<RunResult> results = new Runner(options.build()).run();
    for (RunResult result : results) {
      String benchmark = result.getParams().getBenchmark();
      String method = benchmark.substring(benchmark.lastIndexOf('.') + 1);
      String name = type.getSimpleName() + "." + method;
      List<Double> scores = new ArrayList<>();
      result
          .getBenchmarkResults()
          .forEach(
              fork -> {
                for (IterationResult iteration : fork.getIterationResults()) {
                  scores.add(iteration.getPrimaryResult().getScore());
                }
              });
      String key = parameters.toString();
      of(iterations, name, key).addAll(scores);
      of(rounds, name, key).add(median(scores));
      of(garbage, name, key).add(result.getSecondaryResults().get(GARBAGE).getScore());
      if (result.getParams().getMode() == Mode.SampleTime) {
        Statistics single = result.getPrimaryResult().getStatistics();
        of(percentiles, name, key)
            .add(Arrays.stream(PERCENTILES).map(single::getPercentile).toArray());
      }
    }
  }

  private static <T> List<T> of(
      Map<String, Map<String, List<T>>> scores, String name, String parameters) {
    return scores
        .computeIfAbsent(name, absent -> new LinkedHashMap<>())
        .computeIfAbsent(parameters, absent -> new ArrayList<>());
  }

  private void print() {
    System.out.println("| benchmark | parameters | median | least | greatest | garbage |");
    System.out.println("|---|---|---|---|---|---|");
    iterations.forEach(
        (name, byParameters) ->
            byParameters.forEach(
                (parameters, scores) ->
                    System.out.printf(
                        Locale.ROOT,
                        "| %s | %s | %s | %s | %s | %.0f bytes |%n",
                        name,
                        parameters,
                        time(median(scores)),
                        time(scores.stream().min(Double::compare).orElseThrow()),
                        time(scores.stream().max(Double::compare).orElseThrow()),
                        median(of(garbage, name, parameters)))));
    System.out.println();
    printPercentiles();
    System.out.println("| speed of | relative to | parameters | ratio | of the rounds |");
    System.out.println("|---|---|---|---|---|");
    for (Comparison comparison : COMPARISONS) {
      rounds
          .getOrDefault(comparison.ours(), Map.of())
          .forEach((parameters, ours) -> print(comparison, parameters, ours));
    }
  }

  private void printPercentiles() {
    if (percentiles.isEmpty()) {
      return;
    }
    System.out.println("| single operations of | parameters | median | 99% | 99.9% |");
    System.out.println("|---|---|---|---|---|");
    percentiles.forEach(
        (name, byParameters) ->
            byParameters.forEach(
                (parameters, byRound) ->
                    System.out.printf(
                        "| %s | %s | %s |%n",
                        name,
                        parameters,
                        IntStream.range(0, PERCENTILES.length)
                            .mapToObj(i -> time(medianOf(byRound, i)))
                            .collect(Collectors.joining(" | ")))));
    System.out.println();
  }

  private static double medianOf(List<double[]> rounds, int index) {
    return median(rounds.stream().map(round -> round[index]).toList());
  }

  private void print(Comparison comparison, String parameters, List<Double> ours) {
    List<Double> peers = rounds.getOrDefault(comparison.peer(), Map.of()).get(parameters);
    if (peers == null) {
      throw new IllegalStateException(comparison.peer() + " did not run with " + parameters);
    }
    List<Double> ratios = new ArrayList<>();
    for (int i = 0; i < ours.size(); i++) {
      ratios.add(peers.get(i) / ours.get(i));
    }
    System.out.printf(
        Locale.ROOT,
        "| %s | %s | %s | %.2f | %s |%n",
        comparison.ours(),
        comparison.peer(),
        parameters,
        median(ratios),
        ratios.stream().map(ratio -> String.format(Locale.ROOT, "%.2f", ratio)).toList());
  }

  private static String time(double nanoseconds) {
    if (nanoseconds >= 1e6) {
      return String.format(Locale.ROOT, "%.2f ms", nanoseconds / 1e6);
    }
    if (nanoseconds >= 1e4) {
      return String.format(Locale.ROOT, "%.1f us", nanoseconds / 1e3);
    }
    return String.format(Locale.ROOT, "%.1f ns", nanoseconds);
  }

  private static double median(List<Double> values) {
    List<Double> sorted = values.stream().sorted().toList();
    int middle = sorted.size() / 2;
    return sorted.size() % 2 == 1
        ? sorted.get(middle)
        : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
  }

  private static List<Map<String, String>> combinations(Class<?> type) {
    List<Map<String, String>> all =
        CONCURRENT.contains(type)
            ? List.of(Map.of(THREADS, "1"), Map.of(THREADS, "2"))
            : List.of(Map.of());
    for (Field field : type.getFields()) {
      Param values = field.getAnnotation(Param.class);
      if (values != null) {
        List<Map<String, String>> longer = new ArrayList<>();
        for (Map<String, String> shorter : all) {
          for (String value : values.value()) {
            Map<String, String> next = new LinkedHashMap<>(shorter);
            next.put(field.getName(), value);
            longer.add(next);
          }
        }
        all = longer;
      }
    }
    return all;
  }
}
