package dev.tidepool;

import dev.tidepool.diagnostics.DiagnosticReport;
import dev.tidepool.diagnostics.DiagnosticsLevel;
import dev.tidepool.diagnostics.MemoryPressure;
import dev.tidepool.diagnostics.UnifiedMemoryMXBean;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.transfer.PeerAccess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * How managers behave. Immutable; made by a {@link Builder}.
 *
 * <p>Each option but the listener has a key. The system property {@code tidepool.KEY} overrides
 * what the program set, and the environment variable {@code TIDEPOOL_KEY} (upper case, {@code _}
 * for {@code -}) overrides that where no property is set.
 *
 * <p>Options hold for each manager by itself, but for {@code peer-access}, {@code pinned-limit},
 * {@code concurrent-transfers} and {@code trace}: those are the whole {@link Tidepool}'s, and
 * {@link UnifiedMemoryManager#create(Accelerator, MemoryOptions)} refuses other values.
 *
 * @param pooling {@code pooling}: whether blocks are kept for reuse; true
 * @param maxPoolBytes {@code max-pool-bytes}: idle bytes kept at most in one pool, beside which
 *     blocks below 64 KiB stay whose neighbours are in use; a quarter of the memory's total or 4
 *     GiB, the smaller, where -1
 * @param maxPoolBytesPerClass {@code max-pool-bytes-per-class}: idle bytes kept at most in one size
 *     class; 1 GiB
 * @param keptPoolBytes {@code kept-pool-bytes}: idle bytes that trimming by time leaves; 64 MiB
 * @param trimInterval {@code trim-interval}: how often blocks that were idle all that time are
 *     given back; 5 minutes; zero means never
 * @param defragmentInterval {@code defragment-interval}: how often small buffers are moved together
 *     while more than a quarter of the device memory held is idle beside them; 5 minutes; zero
 *     means only on request and when memory runs out
 * @param evictionPolicy {@code eviction-policy}: which idle block goes first when a pool is full;
 *     with {@code TIME_TO_LIVE} the one that was allocated first does, and trimming by time gives
 *     back what was allocated an interval ago, used since or not; LRU
 * @param peerAccess {@code peer-access}: whether accelerators copy straight from each other where
 *     they can; true. Otherwise bytes between them pass through the host, until {@link
 *     PeerAccess#enable} allows a way
 * @param pinnedLimit {@code pinned-limit}: page-locked bytes at most over all managers of a {@link
 *     Tidepool}; a quarter of the machine's memory where -1
 * @param concurrentTransfers {@code concurrent-transfers}: transfers that run side by side; 4
 * @param stagingChunk {@code staging-chunk}: bytes of one staging block; 4 MiB
 * @param zeroOnRelease {@code zero-on-release}: whether blocks are cleared before they go back to a
 *     pool; false
 * @param diagnostics {@code diagnostics}: how much is recorded; counters
 * @param trace {@code trace}: the file that every allocation and every free of the {@link
 *     Tidepool}'s managers is written to, for {@code tidepool bench --replay}; none. A file that is
 *     there is replaced; further Tidepools of one process append {@code .2}, {@code .3} and so on
 *     to the name
 * @param memoryLimit {@code memory-limit}: bytes that a manager holds of drivers and system at
 *     most: those of its buffers, of their second copies and of idle blocks, each rounded up to its
 *     size class; arrays on the heap, wrapped memory and mapped files are not counted, nor are the
 *     staging blocks of running transfers where the limit is reached; none where -1. A refusal of
 *     the limit is answered as a driver's is: what can be given back is, and only then an
 *     allocation fails
 * @param siteSampling {@code site-sampling}: at the level {@link DiagnosticsLevel#SITES}, the mean
 *     distance in allocated bytes from one allocation whose stack is taken to the next; 512 KiB. 1
 *     takes every one. A thread that takes many at a time doubles its distance for the next quarter
 *     of a second, so that large buffers do not cost more than small ones
 * @param reportListener hears of leaks and other findings, which are logged as well; nobody. A
 *     manager calls it on a thread of the library, for one report after another, in their order,
 *     and under no lock; what it throws is logged. {@link UnifiedMemoryManager#close()} waits until
 *     it has heard all reports, but for five seconds at most where it blocks: the rest comes when
 *     it goes on, unless the process has ended by then
 * @param spillDirectory {@code spill-directory}: where idle buffers go when the host's memory or
 *     the limit is exhausted, the least recently used first, to be brought back when they are
 *     touched; none. An existing directory on a local disk with room for what shall not be in
 *     memory. Each manager has one file there, which only its owner may open, and which is gone
 *     when the manager closes or its process dies
 * @param sharedDirectory {@code shared-directory}: the folder of the buffers that processes share,
 *     which must be this user's alone and is made if it is not there; {@code /dev/shm/tidepool-UID}
 *     on Linux, {@code tidepool-UID} in {@code java.io.tmpdir} elsewhere
 * @param watermarks {@code watermarks}: parts of the limit, or of the device's memory where there
 *     is no limit, at which the listener is called; 0.7 and 0.9. At a limit they are seen at once,
 *     else four times a second
 * @param pressureListener is called when a manager reaches a watermark, and when nine tenths of its
 *     device are in use by anyone, which is looked at four times a second; again only after the
 *     level has fallen by 0.05 of the total below the mark. Called on threads of the library, under
 *     no lock; may close buffers; none
 * @param history {@code history}: how many of the latest allocations and frees are kept for {@link
 *     UnifiedMemoryManager#snapshot()}; where -1, 100,000 at level {@link
 *     DiagnosticsLevel#PARANOID} and where there is a {@code dump-directory}, else none
 * @param dumpDirectory {@code dump-directory}: the folder that a snapshot is written to when memory
 *     runs out, until it holds eight; none
 * @param transferRetries {@code transfer-retries}: how often a transfer is tried again after a
 *     transient error, at most; 3
 * @param transferRetryTime {@code transfer-retry-time}: for how long after the first error it is
 *     tried again, at most; 1 second
 * @param jmx {@code jmx}: whether management consoles see the manager, as {@link
 *     UnifiedMemoryMXBean}; false, for it takes some time of a start
 * @param calibration {@code calibration}: whether the ways to a device with memory of its own are
 *     measured, for some tens of milliseconds, when a transfer of 8 MiB or more first makes it
 *     worth while, and the cheapest way is taken from then on; true. Else the order of ways is
 *     fixed
 * @param cacheDirectory {@code cache-directory}: the folder where calibrations are kept for the
 *     next run, which only its owner may enter; {@code tidepool/calibration} in {@code
 *     XDG_CACHE_HOME} or {@code ~/.cache}
 */
public record MemoryOptions(
    boolean pooling,
    long maxPoolBytes,
    long maxPoolBytesPerClass,
    long keptPoolBytes,
    Duration trimInterval,
    Duration defragmentInterval,
    EvictionPolicy evictionPolicy,
    boolean peerAccess,
    long pinnedLimit,
    int concurrentTransfers,
    long stagingChunk,
    boolean zeroOnRelease,
    DiagnosticsLevel diagnostics,
    Optional<Path> trace,
    long memoryLimit,
    long siteSampling,
    Optional<Consumer<DiagnosticReport>> reportListener,
    Optional<Path> spillDirectory,
    Optional<Path> sharedDirectory,
    List<Double> watermarks,
    Optional<Consumer<MemoryPressure>> pressureListener,
    int history,
    Optional<Path> dumpDirectory,
    int transferRetries,
    Duration transferRetryTime,
    boolean jmx,
    boolean calibration,
    Optional<Path> cacheDirectory) {

  private static final long SMALLEST_CHUNK = 4096;
  private static final int LONGEST_HISTORY = 100_000_000;
  static final Duration LONGEST_TIME = Duration.ofNanos(Long.MAX_VALUE);

  /** Checks that the options go together. */
  public MemoryOptions {
    Objects.requireNonNull(trimInterval, "trimInterval");
    Objects.requireNonNull(defragmentInterval, "defragmentInterval");
    Objects.requireNonNull(evictionPolicy, "evictionPolicy");
    Objects.requireNonNull(diagnostics, "diagnostics");
    Objects.requireNonNull(trace, "trace");
    Objects.requireNonNull(reportListener, "reportListener");
    Objects.requireNonNull(spillDirectory, "spillDirectory");
    Objects.requireNonNull(sharedDirectory, "sharedDirectory");
    Objects.requireNonNull(pressureListener, "pressureListener");
    watermarks = List.copyOf(watermarks);
    check(
        watermarks.stream().allMatch(mark -> mark > 0 && mark <= 1),
        "watermarks",
        watermarks,
        "parts above 0, 1 at most");
    Objects.requireNonNull(dumpDirectory, "dumpDirectory");
    Objects.requireNonNull(cacheDirectory, "cacheDirectory");
    Objects.requireNonNull(transferRetryTime, "transferRetryTime");
    check(transferRetries >= 0, "transfer-retries", transferRetries, "0 or more");
    checkTime("transfer-retry-time", transferRetryTime);
    check(
        history >= -1 && history <= LONGEST_HISTORY,
        "history",
        history,
        "from 0 to " + LONGEST_HISTORY + ", or -1 for the default");
    check(maxPoolBytes >= -1, "max-pool-bytes", maxPoolBytes, "0 or more, or -1 for the default");
    check(maxPoolBytesPerClass >= 0, "max-pool-bytes-per-class", maxPoolBytesPerClass, "0 or more");
    check(keptPoolBytes >= 0, "kept-pool-bytes", keptPoolBytes, "0 or more");
    check(
        maxPoolBytes == -1 || keptPoolBytes <= maxPoolBytes,
        "kept-pool-bytes",
        keptPoolBytes,
        "at most max-pool-bytes, which is " + maxPoolBytes);
    checkTime("trim-interval", trimInterval);
    checkTime("defragment-interval", defragmentInterval);
    check(pinnedLimit >= -1, "pinned-limit", pinnedLimit, "0 or more, or -1 for the default");
    check(concurrentTransfers >= 1, "concurrent-transfers", concurrentTransfers, "1 or more");
    check(
        stagingChunk >= SMALLEST_CHUNK && stagingChunk <= 1L << 30,
        "staging-chunk",
        stagingChunk,
        "from " + SMALLEST_CHUNK + " to " + (1L << 30));
    check(memoryLimit == -1 || memoryLimit >= 1, "memory-limit", memoryLimit, "1 or more, or -1");
    check(siteSampling >= 1, "site-sampling", siteSampling, "1 or more");
  }

  private static void checkTime(String key, Duration time) {
    check(
        !time.isNegative() && time.compareTo(LONGEST_TIME) <= 0,
        key,
        time,
        "from zero to " + LONGEST_TIME.toDays() + " days");
  }

  private static void check(boolean holds, String key, Object value, String rule) {
    if (!holds) {
      throw new IllegalArgumentException(key + " is " + value + "; it must be " + rule);
    }
  }

  /** The defaults, as properties and environment override them. */
  public static MemoryOptions defaults() {
    return builder().build();
  }

  /** A builder that starts from the defaults. */
  public static Builder builder() {
    return new Builder(System::getenv);
  }

  /** Collects options; not safe for concurrent use. */
  public static final class Builder {
    private final Function<String, @Nullable String> environment;
    private boolean pooling = true;
    private long maxPoolBytes = -1;
    private long maxPoolBytesPerClass = 1L << 30;
    private long keptPoolBytes = 64L << 20;
    private Duration trimInterval = Duration.ofMinutes(5);
    private Duration defragmentInterval = Duration.ofMinutes(5);
    private EvictionPolicy evictionPolicy = EvictionPolicy.LRU;
    private boolean peerAccess = true;
    private long pinnedLimit = -1;
    private int concurrentTransfers = 4;
    private long stagingChunk = 4L << 20;
    private boolean zeroOnRelease;
    private DiagnosticsLevel diagnostics = DiagnosticsLevel.COUNTERS;
    private Optional<Path> trace = Optional.empty();
    private long memoryLimit = -1;
    private long siteSampling = 512L << 10;
    private Optional<Consumer<DiagnosticReport>> reportListener = Optional.empty();
    private Optional<Path> spillDirectory = Optional.empty();
    private Optional<Path> sharedDirectory = Optional.empty();
    private List<Double> watermarks = List.of(0.7, 0.9);
    private Optional<Consumer<MemoryPressure>> pressureListener = Optional.empty();
    private int history = -1;
    private Optional<Path> dumpDirectory = Optional.empty();
    private int transferRetries = 3;
    private Duration transferRetryTime = Duration.ofSeconds(1);
    private boolean jmx;
    private boolean calibration = true;
    private Optional<Path> cacheDirectory = Optional.empty();

    Builder(Function<String, @Nullable String> environment) {
      this.environment = environment;
    }

    /** Whether blocks are kept for reuse. */
    public Builder pooling(boolean pooling) {
      this.pooling = pooling;
      return this;
    }

    /** Idle bytes kept at most in one pool; also lowers what trimming leaves, if that is more. */
    public Builder maxPoolBytes(long bytes) {
      this.maxPoolBytes = bytes;
      if (bytes >= 0) {
        keptPoolBytes = Math.min(keptPoolBytes, bytes);
      }
      return this;
    }

    /** Idle bytes kept at most in one size class. */
    public Builder maxPoolBytesPerClass(long bytes) {
      this.maxPoolBytesPerClass = bytes;
      return this;
    }

    /** Idle bytes that trimming by time leaves. */
    public Builder keptPoolBytes(long bytes) {
      this.keptPoolBytes = bytes;
      return this;
    }

    /** How often idle blocks are given back; zero means never. */
    public Builder trimInterval(Duration interval) {
      this.trimInterval = interval;
      return this;
    }

    /** How often scattered small buffers are moved together; zero means only on request. */
    public Builder defragmentInterval(Duration interval) {
      this.defragmentInterval = interval;
      return this;
    }

    /** Which idle block goes first when a pool is full. */
    public Builder evictionPolicy(EvictionPolicy policy) {
      this.evictionPolicy = policy;
      return this;
    }

    /** Whether accelerators copy straight from each other where they can. */
    public Builder peerAccess(boolean straight) {
      this.peerAccess = straight;
      return this;
    }

    /** Page-locked bytes at most over all managers of a Tidepool. */
    public Builder pinnedLimit(long bytes) {
      this.pinnedLimit = bytes;
      return this;
    }

    /** Transfers that run side by side. */
    public Builder concurrentTransfers(int count) {
      this.concurrentTransfers = count;
      return this;
    }

    /** Bytes of one staging block. */
    public Builder stagingChunk(long bytes) {
      this.stagingChunk = bytes;
      return this;
    }

    /** Whether blocks are cleared before they go back to a pool. */
    public Builder zeroOnRelease(boolean zero) {
      this.zeroOnRelease = zero;
      return this;
    }

    /** How much is recorded. */
    public Builder diagnostics(DiagnosticsLevel level) {
      this.diagnostics = level;
      return this;
    }

    /** The file that every allocation and every free is written to. */
    public Builder trace(Path file) {
      this.trace = Optional.of(file);
      return this;
    }

    /** Mean bytes from one allocation whose stack is taken to the next; 1 for all. */
    public Builder siteSampling(long bytes) {
      this.siteSampling = bytes;
      return this;
    }

    /** Hears of leaks and other findings; see {@link MemoryOptions#reportListener()}. */
    public Builder reportListener(Consumer<DiagnosticReport> listener) {
      this.reportListener = Optional.of(listener);
      return this;
    }

    /**
     * Bytes that a manager holds at most: buffers, second copies and idle blocks; -1 for no limit.
     */
    public Builder memoryLimit(long bytes) {
      this.memoryLimit = bytes;
      return this;
    }

    /** Where idle buffers go when the host's memory or the limit is exhausted. */
    public Builder spillDirectory(Path directory) {
      this.spillDirectory = Optional.of(directory);
      return this;
    }

    /** The folder of the buffers that processes share. */
    public Builder sharedDirectory(Path folder) {
      this.sharedDirectory = Optional.of(folder);
      return this;
    }

    /** Parts of the limit, or of the device's memory, at which the listener is called. */
    public Builder watermarks(double... parts) {
      this.watermarks = Arrays.stream(parts).boxed().toList();
      return this;
    }

    /** Is called when memory fills up. */
    public Builder pressureListener(Consumer<MemoryPressure> listener) {
      this.pressureListener = Optional.of(listener);
      return this;
    }

    /** How many of the latest allocations and frees are kept for snapshots. */
    public Builder history(int events) {
      this.history = events;
      return this;
    }

    /** The folder that a snapshot is written to when memory runs out. */
    public Builder dumpDirectory(Path directory) {
      this.dumpDirectory = Optional.of(directory);
      return this;
    }

    /** How often a transfer is tried again after a transient error. */
    public Builder transferRetries(int count) {
      this.transferRetries = count;
      return this;
    }

    /** For how long after the first error a transfer is tried again. */
    public Builder transferRetryTime(Duration time) {
      this.transferRetryTime = time;
      return this;
    }

    /** Whether management consoles see the manager. */
    public Builder jmx(boolean register) {
      this.jmx = register;
      return this;
    }

    /** Whether the ways to a device are measured, and the cheapest is taken. */
    public Builder calibration(boolean measure) {
      this.calibration = measure;
      return this;
    }

    /** The folder where calibrations are kept for the next run. */
    public Builder cacheDirectory(Path folder) {
      this.cacheDirectory = Optional.of(folder);
      return this;
    }

    /**
     * The options, as properties and environment override them.
     *
     * @throws IllegalArgumentException if an option is out of its range; the message names its key
     */
    public MemoryOptions build() {
      long most = overridden("max-pool-bytes", maxPoolBytes, Builder::parseBytes);
      if (most != maxPoolBytes) {
        maxPoolBytes(most);
      }
      return new MemoryOptions(
          overridden("pooling", pooling, Builder::parseBoolean),
          most,
          overridden("max-pool-bytes-per-class", maxPoolBytesPerClass, ByteSize::parse),
          overridden("kept-pool-bytes", keptPoolBytes, ByteSize::parse),
          overridden("trim-interval", trimInterval, Duration::parse),
          overridden("defragment-interval", defragmentInterval, Duration::parse),
          overridden(
              "eviction-policy", evictionPolicy, text -> parseEnum(EvictionPolicy.class, text)),
          overridden("peer-access", peerAccess, Builder::parseBoolean),
          overridden("pinned-limit", pinnedLimit, Builder::parseBytes),
          overridden("concurrent-transfers", concurrentTransfers, Integer::valueOf),
          overridden("staging-chunk", stagingChunk, ByteSize::parse),
          overridden("zero-on-release", zeroOnRelease, Builder::parseBoolean),
          overridden("diagnostics", diagnostics, text -> parseEnum(DiagnosticsLevel.class, text)),
          overridden("trace", trace, Builder::parseFile),
          overridden("memory-limit", memoryLimit, Builder::parseBytes),
          overridden("site-sampling", siteSampling, ByteSize::parse),
          reportListener,
          overridden("spill-directory", spillDirectory, Builder::parseFile),
          overridden("shared-directory", sharedDirectory, Builder::parseFile),
          overridden("watermarks", watermarks, Builder::parseParts),
          pressureListener,
          overridden("history", history, Integer::valueOf),
          overridden("dump-directory", dumpDirectory, Builder::parseFile),
          overridden("transfer-retries", transferRetries, Integer::valueOf),
          overridden("transfer-retry-time", transferRetryTime, Duration::parse),
          overridden("jmx", jmx, Builder::parseBoolean),
          overridden("calibration", calibration, Builder::parseBoolean),
          overridden("cache-directory", cacheDirectory, Builder::parseFile));
    }

    private <T> T overridden(String key, T set, Function<String, T> parser) {
      String property = "tidepool." + key;
      String variable = "TIDEPOOL_" + key.toUpperCase(Locale.ROOT).replace('-', '_');
      String name = property;
      String text = System.getProperty(property);
      if (text == null) {
        name = variable;
        text = environment.apply(variable);
      }
      if (text == null) {
        return set;
      }
      try {
        return parser.apply(text.strip());
      } catch (RuntimeException e) {
        throw new IllegalArgumentException(name + "=" + text + ": " + e.getMessage(), e);
      }
    }

    /** Bytes of an option that has a default of its own, which is -1. */
    private static Long parseBytes(String text) {
      return text.equals("-1") ? -1 : ByteSize.parse(text);
    }

    private static Boolean parseBoolean(String text) {
      return switch (text.toLowerCase(Locale.ROOT)) {
        case "true", "yes", "on", "1" -> true;
        case "false", "no", "off", "0" -> false;
        default -> throw new IllegalArgumentException("write true or false");
      };
    }

    private static <E extends Enum<E>> E parseEnum(Class<E> type, String text) {
      for (E constant : type.getEnumConstants()) {
        if (constant.name().equalsIgnoreCase(text.replace('-', '_'))) {
          return constant;
        }
      }
      throw new IllegalArgumentException(
          "write one of " + Arrays.toString(type.getEnumConstants()).toLowerCase(Locale.ROOT));
    }

    private static List<Double> parseParts(String text) {
      return text.isEmpty()
          ? List.of()
          : Arrays.stream(text.split(",", -1)).map(part -> Double.valueOf(part.strip())).toList();
    }

    /** Empty text is no file, so that an environment variable can be overridden. */
    private static Optional<Path> parseFile(String text) {
      return text.isEmpty() ? Optional.empty() : Optional.of(Path.of(text));
    }
  }
}
