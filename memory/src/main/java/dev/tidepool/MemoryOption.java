package dev.tidepool;

import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.pooling.EvictionPolicy;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Describes one of the {@link MemoryOptions} that have a key: its type, default, range and meaning.
 *
 * <p>{@link #all()} lists them, for programs that set options from their own configuration or
 * display them. Immutable and thread-safe.
 *
 * @param <T> the type of the value; {@code Optional<Path>} for a file or a folder
 */
public final class MemoryOption<T> {
  // Filled by the constructor, in the order of the constants below.
  private static final List<MemoryOption<?>> ALL = new ArrayList<>();

  static final MemoryOption<Boolean> POOLING =
      flag("pooling", true, "whether blocks are kept for reuse");
  static final MemoryOption<Long> MAX_POOL_BYTES =
      bytesOrUnset(
          "max-pool-bytes",
          0,
          "idle bytes kept at most in one pool; a quarter of the memory or 4 GiB, the smaller,"
              + " where -1");
  static final MemoryOption<Long> MAX_POOL_BYTES_PER_CLASS =
      bytes(
          "max-pool-bytes-per-class",
          1L << 30,
          0,
          Long.MAX_VALUE,
          "idle bytes kept at most in one size class");
  static final MemoryOption<Long> KEPT_POOL_BYTES =
      bytes(
          "kept-pool-bytes",
          64L << 20,
          0,
          Long.MAX_VALUE,
          "idle bytes that trimming by time leaves");
  static final MemoryOption<Duration> TRIM_INTERVAL =
      time(
          "trim-interval",
          Duration.ofMinutes(5),
          "how long blocks are idle before they are given back; zero keeps them");
  static final MemoryOption<Duration> DEFRAGMENT_INTERVAL =
      time(
          "defragment-interval",
          Duration.ofMinutes(5),
          "how often small buffers are moved together while device memory is scattered; zero means"
              + " only on request and when memory runs out");
  static final MemoryOption<Boolean> TRIM_ON_PRESSURE =
      flag(
          "trim-on-pressure",
          true,
          "whether idle blocks are given back when less than a sixteenth of the device's or the"
              + " host's memory is free");
  static final MemoryOption<EvictionPolicy> EVICTION_POLICY =
      choice(
          "eviction-policy", EvictionPolicy.LRU, "which idle block goes first when a pool is full");
  static final MemoryOption<Boolean> PEER_ACCESS =
      flag("peer-access", true, "whether accelerators copy directly from each other");
  static final MemoryOption<Boolean> DEVICE_ORDER =
      flag(
          "device-order",
          true,
          "whether a kernel that is executed in the background is submitted behind kernels that it"
              + " depends on, where the device can; otherwise it is submitted when they have"
              + " ended");
  static final MemoryOption<Long> PINNED_LIMIT =
      bytesOrUnset(
          "pinned-limit",
          0,
          "page-locked bytes at most over all managers of a Tidepool; a quarter of the machine's"
              + " memory where -1");
  static final MemoryOption<Boolean> PINNED_MEMORY =
      flag(
          "pinned-memory",
          true,
          "whether memory is page-locked for buffers and transfers; else plain memory takes its"
              + " place");
  static final MemoryOption<Long> PINNED_POOL_BYTES =
      bytesOrUnset(
          "pinned-pool-bytes",
          0,
          "idle page-locked bytes kept at most in one pool; as max-pool-bytes says where -1");
  static final MemoryOption<Boolean> MANAGED_MEMORY =
      flag(
          "managed-memory",
          true,
          "whether CUDA's managed memory serves UNIFIED buffers; else they are unsupported there");
  static final MemoryOption<Boolean> ZERO_COPY_BUFFERS =
      flag(
          "zero-copy-buffers",
          true,
          "whether OpenCL devices that share the host's memory compute in it; else bytes are copied"
              + " to them and back");
  static final MemoryOption<Integer> CONCURRENT_TRANSFERS =
      count(
          "concurrent-transfers",
          4,
          1,
          Integer.MAX_VALUE,
          "1 or more",
          "transfers that run side by side");
  static final MemoryOption<Long> STAGING_CHUNK =
      bytes("staging-chunk", 4L << 20, 4096, 1L << 30, "bytes of one staging block");
  static final MemoryOption<Boolean> ZERO_ON_RELEASE =
      flag("zero-on-release", false, "whether blocks are cleared before they go back to a pool");
  static final MemoryOption<DiagnosticsLevel> DIAGNOSTICS =
      choice("diagnostics", DiagnosticsLevel.COUNTERS, "how much is recorded");
  static final MemoryOption<Optional<Path>> TRACE =
      file("trace", "the file that every allocation and every free is written to");
  static final MemoryOption<Long> MEMORY_LIMIT =
      bytesOrUnset("memory-limit", 1, "bytes that a manager holds at most; no limit where -1");
  static final MemoryOption<Long> SITE_SAMPLING =
      bytes(
          "site-sampling",
          512L << 10,
          1,
          Long.MAX_VALUE,
          "at the level sites, the mean bytes from one allocation whose stack is taken to the"
              + " next");
  static final MemoryOption<Optional<Path>> SPILL_DIRECTORY =
      file(
          "spill-directory",
          "the folder where idle buffers go when the host's memory or the limit is exhausted");
  static final MemoryOption<Optional<Path>> SHARED_DIRECTORY =
      file("shared-directory", "the folder of the buffers that processes share");
  static final MemoryOption<List<Double>> WATERMARKS =
      new MemoryOption<>(
          "watermarks",
          List.of(0.7, 0.9),
          MemoryOption::parseParts,
          marks -> marks.stream().allMatch(mark -> mark > 0 && mark <= 1),
          "parts above 0, 1 at most",
          "parts of the limit, or of the device's memory, at which the pressure listener is"
              + " called");
  static final MemoryOption<Integer> HISTORY =
      count(
          "history",
          -1,
          -1,
          100_000_000,
          "from 0 to 100000000, or -1 for the default",
          "how many of the latest allocations and frees are kept for snapshots");
  static final MemoryOption<Optional<Path>> DUMP_DIRECTORY =
      file("dump-directory", "the folder that a snapshot is written to when memory runs out");
  static final MemoryOption<Integer> TRANSFER_RETRIES =
      count(
          "transfer-retries",
          3,
          0,
          Integer.MAX_VALUE,
          "0 or more",
          "how often a transfer is tried again after a transient error, at most");
  static final MemoryOption<Duration> TRANSFER_RETRY_TIME =
      time(
          "transfer-retry-time",
          Duration.ofSeconds(1),
          "for how long after the first error a transfer is tried again, at most");
  static final MemoryOption<Boolean> JMX =
      flag("jmx", false, "whether management consoles see the manager");
  static final MemoryOption<Boolean> CALIBRATION =
      flag(
          "calibration",
          false,
          "whether the ways to a device are measured before a first transfer of 8 MiB or more");
  static final MemoryOption<Optional<Path>> CACHE_DIRECTORY =
      file("cache-directory", "the folder where calibrations are kept for the next run");

  private static final Duration LONGEST_TIME = Duration.ofNanos(Long.MAX_VALUE);
  private static final Pattern SIMPLE_TIME = Pattern.compile("(\\d+)(ns|us|ms|s|m|h|d)");

  private final int index;
  private final String key;
  private final T defaultValue;
  private final Function<String, T> parser;
  private final Predicate<T> range;
  private final String rule;
  private final String description;

  private MemoryOption(
      String key,
      T defaultValue,
      Function<String, T> parser,
      Predicate<T> range,
      String rule,
      String description) {
    this.index = ALL.size();
    this.key = key;
    this.defaultValue = defaultValue;
    this.parser = parser;
    this.range = range;
    this.rule = rule;
    this.description = description;
    ALL.add(this);
  }

  private static MemoryOption<Boolean> flag(String key, boolean set, String description) {
    return new MemoryOption<>(
        key, set, MemoryOption::parseBoolean, _ -> true, "true or false", description);
  }

  private static MemoryOption<Long> bytes(
      String key, long set, long least, long most, String description) {
    String rule = most == Long.MAX_VALUE ? least + " or more" : "from " + least + " to " + most;
    return new MemoryOption<>(
        key, set, ByteSize::parse, bytes -> bytes >= least && bytes <= most, rule, description);
  }

  /** Creates an option for a number of bytes whose default -1 lets the library choose. */
  private static MemoryOption<Long> bytesOrUnset(String key, long least, String description) {
    return new MemoryOption<>(
        key,
        -1L,
        text -> text.equals("-1") ? -1 : ByteSize.parse(text),
        bytes -> bytes == -1 || bytes >= least,
        least + " or more, or -1 for the default",
        description);
  }

  private static MemoryOption<Integer> count(
      String key, int set, int least, int most, String rule, String description) {
    return new MemoryOption<>(
        key, set, Integer::valueOf, count -> count >= least && count <= most, rule, description);
  }

  private static MemoryOption<Duration> time(String key, Duration set, String description) {
    return new MemoryOption<>(
        key,
        set,
        MemoryOption::parseTime,
        time -> !time.isNegative() && time.compareTo(LONGEST_TIME) <= 0,
        "from zero to " + Duration.ofNanos(Long.MAX_VALUE).toDays() + " days",
        description);
  }

  private static Duration parseTime(String text) {
    Matcher simple = SIMPLE_TIME.matcher(text.toLowerCase(Locale.ROOT));
    try {
      if (simple.matches()) {
        return Duration.of(Long.parseLong(simple.group(1)), timeUnit(simple.group(2)));
      }
      return Duration.parse(text);
    } catch (DateTimeParseException | NumberFormatException | ArithmeticException e) {
      throw new IllegalArgumentException(
          "'" + text + "' is no duration; write 500ms, 30s, 5m, 2h or PT5M", e);
    }
  }

  private static ChronoUnit timeUnit(String name) {
    return switch (name) {
      case "ns" -> ChronoUnit.NANOS;
      case "us" -> ChronoUnit.MICROS;
      case "ms" -> ChronoUnit.MILLIS;
      case "s" -> ChronoUnit.SECONDS;
      case "m" -> ChronoUnit.MINUTES;
      case "h" -> ChronoUnit.HOURS;
      default -> ChronoUnit.DAYS;
    };
  }

  private static <E extends Enum<E>> MemoryOption<E> choice(String key, E set, String description) {
    E[] constants = set.getDeclaringClass().getEnumConstants();
    String rule = "one of " + Arrays.toString(constants).toLowerCase(Locale.ROOT).replace('_', '-');
    return new MemoryOption<>(
        key, set, text -> parseConstant(constants, rule, text), _ -> true, rule, description);
  }

  private static MemoryOption<Optional<Path>> file(String key, String description) {
    // Empty text means no file, so that a property can override an environment variable.
    return new MemoryOption<>(
        key,
        Optional.empty(),
        text -> text.isEmpty() ? Optional.empty() : Optional.of(Path.of(text)),
        file -> file.isEmpty() || file.get().getFileSystem().equals(FileSystems.getDefault()),
        "a path of the default file system",
        description);
  }

  /** Returns all options that have a key. */
  public static List<MemoryOption<?>> all() {
    return Collections.unmodifiableList(ALL);
  }

  /**
   * Returns the option with a key.
   *
   * @throws IllegalArgumentException if there is none; the message names the nearest key
   */
  public static MemoryOption<?> named(String key) {
    Objects.requireNonNull(key, "key");
    for (MemoryOption<?> option : ALL) {
      if (option.key.equals(key)) {
        return option;
      }
    }
    throw new IllegalArgumentException(
        "there is no option '" + key + "'; the nearest is '" + nearest(key) + "'");
  }

  /** Returns the option whose key is the nearest to a text. */
  static MemoryOption<?> nearest(String key) {
    return ALL.stream()
        .min(Comparator.comparingInt(known -> distance(known.key, key)))
        .orElseThrow();
  }

  /**
   * Returns the edit distance of two texts: the number of characters to insert, delete or replace.
   * By the algorithm of Wagner and Fischer, 1974.
   */
  static int distance(String one, String other) {
    int[] row = new int[other.length() + 1];
    Arrays.setAll(row, at -> at);
    for (int i = 1; i <= one.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= other.length(); j++) {
        int replaced = diagonal + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[other.length()];
  }

  /** Returns the key, {@code memory-limit} for example. */
  public String key() {
    return key;
  }

  /** Returns the name of the system property that overrides the option. */
  public String property() {
    return "tidepool." + key;
  }

  /**
   * Returns the name of the environment variable that overrides the option if the system property
   * is not set.
   */
  public String environmentVariable() {
    return "TIDEPOOL_" + key.toUpperCase(Locale.ROOT).replace('-', '_');
  }

  /** Returns the value of the option if it is not set. */
  public T defaultValue() {
    return defaultValue;
  }

  /** Returns the meaning of the option, as an English phrase. */
  public String description() {
    return description;
  }

  /**
   * Parses a value, such as {@code true}, {@code on}, {@code 64k}, {@code 2GiB}, {@code 5m}, {@code
   * PT5M}, {@code time-to-live}; Watermarks are separated by commas. Empty text means no file.
   *
   * @throws IllegalArgumentException if the text is not of the option's type, or the value is out
   *     of its range
   */
  public T parse(String text) {
    try {
      return checked(parser.apply(text.strip()));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(key + " is " + text + "; it must be " + rule, e);
    }
  }

  /**
   * Returns the value.
   *
   * @throws IllegalArgumentException if it is out of the range
   */
  T checked(T value) {
    Objects.requireNonNull(value, key);
    if (!range.test(value)) {
      Object shown = value instanceof Optional<?> file ? file.orElseThrow() : value;
      throw new IllegalArgumentException(key + " is " + shown + "; it must be " + rule);
    }
    return value;
  }

  /** Returns the position in {@link #all()}. */
  int index() {
    return index;
  }

  @Override
  public String toString() {
    return key;
  }

  private static Boolean parseBoolean(String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "true", "yes", "on", "1" -> true;
      case "false", "no", "off", "0" -> false;
      default -> throw new IllegalArgumentException("write true or false");
    };
  }

  private static <E extends Enum<E>> E parseConstant(E[] constants, String rule, String text) {
    return Stream.of(constants)
        .filter(constant -> constant.name().equalsIgnoreCase(text.replace('-', '_')))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("write " + rule));
  }

  private static List<Double> parseParts(String text) {
    return text.isEmpty()
        ? List.of()
        : Arrays.stream(text.split(",", -1)).map(part -> Double.valueOf(part.strip())).toList();
  }
}
