package dev.tidepool.spark;

import dev.tidepool.ByteSize;
import dev.tidepool.MemoryOption;
import dev.tidepool.MemoryOptions;
import dev.tidepool.expression.syntax.Spelling;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.spark.SparkConf;
import scala.Tuple2;

/**
 * The values of the properties {@code spark.tidepool.*}. The library's own table provides its
 * options, so that a new option becomes a property without a change here.
 *
 * @param accelerator an id, a kind or {@code auto}
 * @param resource Spark's name for the resource whose addresses are accelerators
 * @param chunkBytes the bytes of a partition that are computed at once, if set
 * @param options the options of the library
 */
record Settings(
    String accelerator, String resource, OptionalLong chunkBytes, MemoryOptions options) {
  static final String PREFIX = "spark.tidepool.";
  static final String ANY_ACCELERATOR = "auto";
  private static final String ACCELERATOR = "accelerator";
  private static final String RESOURCE = "resource";
  private static final String CHUNK_BYTES = "chunk-bytes";
  private static final List<String> OWN = List.of(ACCELERATOR, RESOURCE, CHUNK_BYTES);

  /**
   * Returns the settings of an application.
   *
   * @throws IllegalArgumentException if a property does not exist or its value is invalid; the
   *     message names the property
   */
  static Settings of(SparkConf conf) {
    Map<String, String> own = new HashMap<>();
    Map<String, String> options = new HashMap<>();
    for (Tuple2<String, String> property : conf.getAllWithPrefix(PREFIX)) {
      (OWN.contains(property._1()) ? own : options).put(property._1(), property._2());
    }
    options.keySet().forEach(Settings::checkKnown);
    Settings settings =
        new Settings(
            own.getOrDefault(ACCELERATOR, ANY_ACCELERATOR),
            own.getOrDefault(RESOURCE, "gpu"),
            own.containsKey(CHUNK_BYTES)
                ? OptionalLong.of(chunkBytes(own.get(CHUNK_BYTES)))
                : OptionalLong.empty(),
            options(options));
    settings.checkAddresses(conf);
    return settings;
  }

  private static void checkKnown(String key) {
    List<String> known = new ArrayList<>(OWN);
    MemoryOption.all().forEach(option -> known.add(option.key()));
    if (known.contains(key)) {
      return;
    }
    String suggestion = Spelling.suggestion(key, known);
    if (!suggestion.isEmpty()) {
      throw new IllegalArgumentException(PREFIX + key + ": there is no such setting" + suggestion);
    }
    try {
      MemoryOption.named(key);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(PREFIX + key + ": " + e.getMessage(), e);
    }
  }

  private static MemoryOptions options(Map<String, String> options) {
    try {
      return MemoryOptions.from(options);
    } catch (IllegalArgumentException e) {
      // The message begins with the key.
      throw new IllegalArgumentException(PREFIX + e.getMessage(), e);
    }
  }

  private static long chunkBytes(String text) {
    long bytes;
    try {
      bytes = ByteSize.parse(text);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(PREFIX + CHUNK_BYTES + "=" + text + ": " + e.getMessage());
    }
    if (bytes < 4 << 10 || bytes > 1L << 30) {
      throw new IllegalArgumentException(
          PREFIX + CHUNK_BYTES + " is " + text + "; it must be from 4k to 1g");
    }
    return bytes;
  }

  private void checkAddresses(SparkConf conf) {
    String amount = "spark.task.resource." + resource + ".amount";
    if (namesDevice() && conf.contains(amount)) {
      throw new IllegalArgumentException(
          PREFIX
              + ACCELERATOR
              + "="
              + accelerator
              + " names one device, but with "
              + amount
              + " Spark says which device a task has; set the kind, "
              + kind()
              + ", or remove one of the two");
    }
  }

  private boolean namesDevice() {
    return accelerator.contains(":");
  }

  /** Returns the kind of the accelerator, such as {@code cuda}, or {@link #ANY_ACCELERATOR}. */
  String kind() {
    return namesDevice() ? accelerator.substring(0, accelerator.indexOf(':')) : accelerator;
  }
}
