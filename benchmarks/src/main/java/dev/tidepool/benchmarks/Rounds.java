package dev.tidepool.benchmarks;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
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
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.BenchmarkListEntry;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;
import org.openjdk.jmh.util.Statistics;

/**
 * Runs benchmark classes with JMH in rounds. Within a round, all methods of a class run in
 * succession for one set of parameters before the next set. So both sides of a comparison see the
 * same machine speed, even if it drifts. Prints the median, least and greatest of all iterations,
 * and for each comparison the median of the rounds' ratios.
 */
public final class Rounds {
  private static final String[] JVM_OPTIONS = {
    "--enable-native-access=ALL-UNNAMED",
    // Arrow's allocator needs this.
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "-Xms1g",
    "-Xmx1g",
    // Netty's blocks count against this.
    "-XX:MaxDirectMemorySize=8g"
  };

  /** The classes that run with one thread, and then with two. */
  private static final Set<Class<?>> CONCURRENT =
      Set.of(HostAllocationBenchmark.class, HolesBenchmark.class, UsedBufferBenchmark.class);

  private static final String THREADS = "threads";

  /** The profiler's name for the bytes of garbage of one operation. */
  private static final String GARBAGE = "gc.alloc.rate.norm";

  private static final double[] PERCENTILES = {50, 99, 99.9};

  /** The medians of the rounds, by parameters and method. */
  private final Map<String, Map<String, List<Double>>> rounds = new TreeMap<>();

  private final Map<String, Map<String, List<Double>>> iterations = new TreeMap<>();
  private final Map<String, Map<String, List<Double>>> garbage = new TreeMap<>();

  /** The percentiles of each round that times single operations, by parameters and method. */
  private final Map<String, Map<String, List<double[]>>> percentiles = new TreeMap<>();

  private Rounds() {}

  /** Runs benchmarks. Arguments: the number of rounds, then simple class names, none for all. */
  public static void main(String[] arguments) throws RunnerException {
    int count = Integer.parseInt(arguments[0]);
    List<Class<?>> classes = classes(List.of(arguments).subList(1, arguments.length));
    Rounds rounds = new Rounds();
    for (int round = 1; round <= count; round++) {
      for (Class<?> type : classes) {
        System.err.println("round " + round + " of " + count + ": " + type.getSimpleName());
        for (Map<String, String> parameters : combinations(type)) {
          rounds.run(type, parameters);
        }
      }
    }
    rounds.print(classes);
  }

  /** Returns the classes with these names in their order, or all classes if there are no names. */
  static List<Class<?>> classes(List<String> names) {
    Map<String, Class<?>> known = new TreeMap<>();
    for (BenchmarkListEntry entry :
        BenchmarkList.defaultList()
            .getAll(
                OutputFormatFactory.createFormatInstance(System.err, VerboseMode.SILENT),
                List.of())) {
      try {
        Class<?> type = Class.forName(entry.getUserClassQName());
        known.put(type.getSimpleName(), type);
      } catch (ClassNotFoundException absent) {
        throw new IllegalStateException(absent);
      }
    }
    List<Class<?>> chosen = new ArrayList<>();
    for (String name : names) {
      Class<?> type = known.get(name);
      if (type == null) {
        throw new IllegalArgumentException(
            "no benchmark class " + name + "; there are " + String.join(", ", known.keySet()));
      }
      chosen.add(type);
    }
    return names.isEmpty() ? List.copyOf(known.values()) : chosen;
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

  private void print(List<Class<?>> classes) {
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
    for (Class<?> type : classes) {
      for (Method ours : type.getMethods()) {
        ComparedWith peers = ours.getAnnotation(ComparedWith.class);
        for (String peer : peers == null ? new String[0] : peers.value()) {
          String name = type.getSimpleName() + "." + ours.getName();
          rounds
              .getOrDefault(name, Map.of())
              .forEach(
                  (parameters, times) ->
                      printRatio(name, type.getSimpleName() + "." + peer, parameters, times));
        }
      }
    }
    printGains();
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
                        Locale.ROOT,
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

  private void printRatio(String ours, String peer, String parameters, List<Double> times) {
    List<Double> peers = of(rounds, peer, parameters);
    if (peers.size() != times.size()) {
      throw new IllegalStateException(peer + " did not run with " + parameters);
    }
    List<Double> ratios =
        IntStream.range(0, times.size()).mapToObj(i -> peers.get(i) / times.get(i)).toList();
    System.out.printf(
        Locale.ROOT,
        "| %s | %s | %s | %.2f | %s |%n",
        ours,
        peer,
        parameters,
        median(ratios),
        ratios.stream().map(ratio -> String.format(Locale.ROOT, "%.2f", ratio)).toList());
  }

  /** Prints the throughput of two threads relative to one, for classes that run with both. */
  private void printGains() {
    List<String> lines = new ArrayList<>();
    rounds.forEach(
        (name, byParameters) ->
            byParameters.forEach(
                (parameters, twice) -> {
                  List<Double> once =
                      byParameters.get(parameters.replace("threads=2", "threads=1"));
                  if (once != twice) {
                    lines.add(
                        String.format(
                            Locale.ROOT,
                            "| %s | %s | %.2f |",
                            name,
                            parameters,
                            median(
                                IntStream.range(0, twice.size())
                                    .mapToObj(i -> 2 * once.get(i) / twice.get(i))
                                    .toList())));
                  }
                }));
    if (!lines.isEmpty()) {
      System.out.println();
      System.out.println("| throughput of two threads, relative to one | parameters | ratio |");
      System.out.println("|---|---|---|");
      lines.forEach(System.out::println);
    }
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
