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
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * How managers behave. Immutable; made by a {@link Builder}.
 *
 * {@snippet :
 * MemoryOptions options =
 *     MemoryOptions.builder().memoryLimit(2L << 30).spillDirectory(Path.of("/scratch")).build();
 * UnifiedMemoryManager memory = UnifiedMemoryManager.create(options);
 * }
 *
 * <p>Each option but the listeners has a key and is in the table {@link MemoryOption#all()}. The
 * system property {@code tidepool.KEY} overrides what the program set, and the environment variable
 * {@code TIDEPOOL_KEY} (upper case, {@code _} for {@code -}) overrides that where no property is
 * set.
 *
 * <p>Options hold for each manager by itself, except for {@code peer-access}, {@code pinned-limit},
 * {@code managed-memory}, {@code zero-copy-buffers}, {@code concurrent-transfers} and {@code
 * trace}: those are the whole {@link Tidepool}'s, and {@link
 * UnifiedMemoryManager#create(Accelerator, MemoryOptions)} refuses other values.
 */
public final class MemoryOptions {
  // By the index of their options.
  private final Object[] values;
  private final Optional<Consumer<DiagnosticReport>> reportListener;
  private final Optional<Consumer<MemoryPressure>> pressureListener;

  private MemoryOptions(Builder builder) {
    values = builder.values.clone();
    reportListener = builder.reportListener;
    pressureListener = builder.pressureListener;
    if (maxPoolBytes() != -1 && keptPoolBytes() > maxPoolBytes()) {
      throw new IllegalArgumentException(
          MemoryOption.KEPT_POOL_BYTES
              + " is "
              + keptPoolBytes()
              + "; it must be at most "
              + MemoryOption.MAX_POOL_BYTES
              + ", which is "
              + maxPoolBytes());
    }
  }

  /** Returns the defaults, as properties and environment override them. */
  public static MemoryOptions defaults() {
    return builder().build();
  }

  /** Returns a builder that starts from the defaults. */
  public static Builder builder() {
    return new Builder(System::getenv);
  }

  /**
   * Options by their keys, as texts; the defaults where there is no entry.
   *
   * @throws IllegalArgumentException if there is no option of a key, or a value is out of its
   *     range; the message names the key
   */
  public static MemoryOptions from(Map<String, String> options) {
    options.keySet().forEach(MemoryOption::named);
    Builder builder = builder();
    // In the order of the table, because one option may lower another.
    for (MemoryOption<?> option : MemoryOption.all()) {
      String text = options.get(option.key());
      if (text != null) {
        builder.set(option.key(), text);
      }
    }
    return builder.build();
  }

  /** The value of an option. */
  @SuppressWarnings("unchecked") // The builder puts values of the option's type only.
  public <T> T get(MemoryOption<T> option) {
    return (T) values[option.index()];
  }

  /** {@code pooling}: whether blocks are kept for reuse; true. */
  public boolean pooling() {
    return get(MemoryOption.POOLING);
  }

  /**
   * {@code max-pool-bytes}: idle bytes kept at most in one pool; where -1, a quarter of the
   * memory's total or 4 GiB, the smaller. Idle blocks below 64 KiB whose neighbours are in use stay
   * in addition.
   */
  public long maxPoolBytes() {
    return get(MemoryOption.MAX_POOL_BYTES);
  }

  /** {@code max-pool-bytes-per-class}: idle bytes kept at most in one size class; 1 GiB. */
  public long maxPoolBytesPerClass() {
    return get(MemoryOption.MAX_POOL_BYTES_PER_CLASS);
  }

  /** {@code kept-pool-bytes}: idle bytes that trimming by time leaves; 64 MiB. */
  public long keptPoolBytes() {
    return get(MemoryOption.KEPT_POOL_BYTES);
  }

  /**
   * {@code trim-interval}: how often the blocks that were idle for the whole interval are given
   * back; 5 minutes. Zero means never.
   */
  public Duration trimInterval() {
    return get(MemoryOption.TRIM_INTERVAL);
  }

  /**
   * {@code defragment-interval}: how often small buffers are moved together while more than a
   * quarter of the device memory held is idle beside them; 5 minutes. Zero means only on request
   * and when memory runs out.
   */
  public Duration defragmentInterval() {
    return get(MemoryOption.DEFRAGMENT_INTERVAL);
  }

  /**
   * {@code trim-on-pressure}: whether all idle blocks are given back when less than a sixteenth of
   * their memory, the device's or the host's, is free; true. This is checked four times a second.
   */
  public boolean trimOnPressure() {
    return get(MemoryOption.TRIM_ON_PRESSURE);
  }

  /**
   * {@code eviction-policy}: which idle block goes first when a pool is full; LRU. With {@code
   * TIME_TO_LIVE} that is the block that was allocated first, and trimming by time gives back what
   * was allocated an interval ago, even if it was used since.
   */
  public EvictionPolicy evictionPolicy() {
    return get(MemoryOption.EVICTION_POLICY);
  }

  /**
   * {@code peer-access}: whether accelerators copy straight from each other where they can; true.
   * Otherwise bytes between them pass through the host, until {@link PeerAccess#enable} allows a
   * way.
   */
  public boolean peerAccess() {
    return get(MemoryOption.PEER_ACCESS);
  }

  /**
   * {@code device-order}: whether a kernel that is executed in the background is submitted behind
   * kernels that it depends on, where the device can; true. Otherwise it is submitted when they
   * have ended.
   */
  public boolean deviceOrder() {
    return get(MemoryOption.DEVICE_ORDER);
  }

  /**
   * {@code pinned-limit}: page-locked bytes at most over all managers of a {@link Tidepool}; a
   * quarter of the machine's memory where -1.
   */
  public long pinnedLimit() {
    return get(MemoryOption.PINNED_LIMIT);
  }

  /**
   * {@code pinned-memory}: whether memory is page-locked, for PINNED buffers and for the blocks
   * that transfers go through; true. Otherwise plain memory takes its place, and {@link
   * MemoryStatistics#pinnedFallbacks()} counts each block that is allocated for a PINNED buffer.
   */
  public boolean pinnedMemory() {
    return get(MemoryOption.PINNED_MEMORY);
  }

  /**
   * {@code pinned-pool-bytes}: idle bytes kept at most in a pool of page-locked memory, in place of
   * {@link #maxPoolBytes()}; where -1, that option holds here too.
   */
  public long pinnedPoolBytes() {
    return get(MemoryOption.PINNED_POOL_BYTES);
  }

  /**
   * {@code managed-memory}: whether CUDA's managed memory serves UNIFIED buffers; true. Otherwise
   * they are an {@link UnsupportedOperationException} on CUDA devices, which then do not have
   * {@link Capability#UNIFIED_MEMORY}.
   */
  public boolean managedMemory() {
    return get(MemoryOption.MANAGED_MEMORY);
  }

  /**
   * {@code zero-copy-buffers}: whether OpenCL devices that share the host's memory compute in it;
   * true. Otherwise they have memory of their own, to which bytes are copied, and do not have
   * {@link Capability#SHARED_MEMORY}.
   */
  public boolean zeroCopyBuffers() {
    return get(MemoryOption.ZERO_COPY_BUFFERS);
  }

  /** {@code concurrent-transfers}: transfers that run side by side; 4. */
  public int concurrentTransfers() {
    return get(MemoryOption.CONCURRENT_TRANSFERS);
  }

  /** {@code staging-chunk}: bytes of one staging block; 4 MiB. */
  public long stagingChunk() {
    return get(MemoryOption.STAGING_CHUNK);
  }

  /** {@code zero-on-release}: whether blocks are cleared before they go back to a pool; false. */
  public boolean zeroOnRelease() {
    return get(MemoryOption.ZERO_ON_RELEASE);
  }

  /** {@code diagnostics}: how much is recorded; counters. */
  public DiagnosticsLevel diagnostics() {
    return get(MemoryOption.DIAGNOSTICS);
  }

  /**
   * {@code trace}: the file that every allocation and every free of the {@link Tidepool}'s managers
   * is written to, for {@code tidepool bench --replay}; none. A file that is there is replaced;
   * further Tidepools of one process append {@code .2}, {@code .3} and so on to the name.
   */
  public Optional<Path> trace() {
    return get(MemoryOption.TRACE);
  }

  /**
   * {@code memory-limit}: bytes that a manager holds at most of drivers and the system; no limit
   * where -1. Its buffers, their second copies and its idle blocks count, each rounded up to its
   * size class. Arrays on the heap, wrapped memory and mapped files do not count, nor do the
   * staging blocks of running transfers where the limit is reached. At the limit, as when a driver
   * refuses, what can be given back is given back, and only then does an allocation fail.
   */
  public long memoryLimit() {
    return get(MemoryOption.MEMORY_LIMIT);
  }

  /**
   * {@code site-sampling}: at the level {@link DiagnosticsLevel#SITES}, the mean distance in
   * allocated bytes from one allocation whose stack is taken to the next; 512 KiB. 1 takes every
   * one. A thread that takes many at a time doubles its distance for the next quarter of a second,
   * so that large buffers do not cost more than small ones.
   */
  public long siteSampling() {
    return get(MemoryOption.SITE_SAMPLING);
  }

  /**
   * Returns the listener that is called for leaks and other findings, which are logged as well;
   * none. A manager calls it on a thread of the library, for one report after another, in their
   * order, and under no lock; what it throws is logged. {@link UnifiedMemoryManager#close()} waits
   * until it has been called for all reports, five seconds at most. If it blocks for longer, it
   * gets the rest of the reports when it goes on, unless the process has ended by then.
   */
  public Optional<Consumer<DiagnosticReport>> reportListener() {
    return reportListener;
  }

  /**
   * {@code spill-directory}: where idle buffers go when the host's memory or the limit is
   * exhausted, the least recently used first, to be brought back when they are touched; none. An
   * existing directory on a local disk with room for what memory does not hold. Each manager has
   * one file there, which only its owner may open, and which is gone when the manager closes or its
   * process dies.
   */
  public Optional<Path> spillDirectory() {
    return get(MemoryOption.SPILL_DIRECTORY);
  }

  /**
   * {@code shared-directory}: the folder of the buffers that processes share, which must be this
   * user's alone and is made if it is not there; {@code /dev/shm/tidepool-UID} on Linux, {@code
   * tidepool-UID} in {@code java.io.tmpdir} elsewhere.
   */
  public Optional<Path> sharedDirectory() {
    return get(MemoryOption.SHARED_DIRECTORY);
  }

  /**
   * {@code watermarks}: parts of the limit, or of the device's memory where there is no limit, at
   * which the listener is called; 0.7 and 0.9. At a limit they are seen at once, else four times a
   * second.
   */
  public List<Double> watermarks() {
    return get(MemoryOption.WATERMARKS);
  }

  /**
   * Returns the listener that is called when a manager reaches a watermark, and when nine tenths of
   * its device are in use by any process, which is checked four times a second; none. It is called
   * again only after the level has fallen by 0.05 of the total below the mark. It is called on
   * threads of the library, under no lock, and may close buffers.
   */
  public Optional<Consumer<MemoryPressure>> pressureListener() {
    return pressureListener;
  }

  /**
   * {@code history}: how many of the latest allocations and frees are kept for {@link
   * UnifiedMemoryManager#snapshot()}; where -1, 100,000 at level {@link DiagnosticsLevel#PARANOID}
   * and where there is a {@code dump-directory}, else none.
   */
  public int history() {
    return get(MemoryOption.HISTORY);
  }

  /**
   * {@code dump-directory}: the folder that a snapshot is written to when memory runs out, until it
   * holds eight; none.
   */
  public Optional<Path> dumpDirectory() {
    return get(MemoryOption.DUMP_DIRECTORY);
  }

  /**
   * {@code transfer-retries}: how often a transfer is tried again after a transient error, at most;
   * 3.
   */
  public int transferRetries() {
    return get(MemoryOption.TRANSFER_RETRIES);
  }

  /**
   * {@code transfer-retry-time}: for how long after the first error it is tried again, at most; 1
   * second.
   */
  public Duration transferRetryTime() {
    return get(MemoryOption.TRANSFER_RETRY_TIME);
  }

  /**
   * {@code jmx}: whether management consoles see the manager, as {@link UnifiedMemoryMXBean};
   * false, because it makes the start slower.
   */
  public boolean jmx() {
    return get(MemoryOption.JMX);
  }

  /**
   * {@code calibration}: whether the ways to a device with memory of its own are measured before
   * the first transfer of 8 MiB or more; false. The measurement takes some tens of milliseconds.
   * From then on the cheapest way is taken. The figures are kept in the {@linkplain
   * #cacheDirectory() cache} for the next run. Otherwise the order of ways is fixed until {@link
   * dev.tidepool.transfer.TransferEngine#calibrate()} is called.
   */
  public boolean calibration() {
    return get(MemoryOption.CALIBRATION);
  }

  /**
   * {@code cache-directory}: the folder where calibrations are kept for the next run, which only
   * its owner may enter; {@code tidepool/calibration} in {@code XDG_CACHE_HOME} or {@code
   * ~/.cache}.
   */
  public Optional<Path> cacheDirectory() {
    return get(MemoryOption.CACHE_DIRECTORY);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof MemoryOptions options
        && Arrays.equals(values, options.values)
        && reportListener.equals(options.reportListener)
        && pressureListener.equals(options.pressureListener);
  }

  @Override
  public int hashCode() {
    return Objects.hash(Arrays.hashCode(values), reportListener, pressureListener);
  }

  /** Returns the options that are not at their defaults. */
  @Override
  public String toString() {
    return MemoryOption.all().stream()
        .filter(option -> !get(option).equals(option.defaultValue()))
        .map(option -> option.key() + "=" + get(option))
        .collect(Collectors.joining(", ", "MemoryOptions[", "]"));
  }

  /** Collects options; not safe for concurrent use. */
  public static final class Builder {
    private final Function<String, @Nullable String> environment;
    private final Object[] values =
        MemoryOption.all().stream().map(MemoryOption::defaultValue).toArray();
    private Optional<Consumer<DiagnosticReport>> reportListener = Optional.empty();
    private Optional<Consumer<MemoryPressure>> pressureListener = Optional.empty();

    Builder(Function<String, @Nullable String> environment) {
      this.environment = environment;
    }

    /**
     * Sets an option by its key, from a text, as properties and environment do.
     *
     * @throws IllegalArgumentException if there is no such option, or the value is out of its range
     */
    public Builder set(String key, String value) {
      parse(MemoryOption.named(key), key, value);
      return this;
    }

    /** Sets an option from the text that {@code name} has. */
    private <T> void parse(MemoryOption<T> option, String name, String text) {
      try {
        set(option, option.parse(text));
      } catch (RuntimeException e) {
        throw new IllegalArgumentException(name + "=" + text + ": " + e.getMessage(), e);
      }
    }

    private <T> Builder set(MemoryOption<T> option, T value) {
      values[option.index()] = option.checked(value);
      if (option == MemoryOption.MAX_POOL_BYTES && (long) value >= 0) {
        long kept = (long) values[MemoryOption.KEPT_POOL_BYTES.index()];
        values[MemoryOption.KEPT_POOL_BYTES.index()] = Math.min(kept, (long) value);
      }
      return this;
    }

    /** Sets whether blocks are kept for reuse. */
    public Builder pooling(boolean pooling) {
      return set(MemoryOption.POOLING, pooling);
    }

    /** Idle bytes kept at most in one pool; also lowers what trimming leaves, if that is more. */
    public Builder maxPoolBytes(long bytes) {
      return set(MemoryOption.MAX_POOL_BYTES, bytes);
    }

    /** Idle bytes kept at most in one size class. */
    public Builder maxPoolBytesPerClass(long bytes) {
      return set(MemoryOption.MAX_POOL_BYTES_PER_CLASS, bytes);
    }

    /** Idle bytes that trimming by time leaves. */
    public Builder keptPoolBytes(long bytes) {
      return set(MemoryOption.KEPT_POOL_BYTES, bytes);
    }

    /** Sets how often idle blocks are given back; zero means never. */
    public Builder trimInterval(Duration interval) {
      return set(MemoryOption.TRIM_INTERVAL, interval);
    }

    /** Sets how often scattered small buffers are moved together; zero means only on request. */
    public Builder defragmentInterval(Duration interval) {
      return set(MemoryOption.DEFRAGMENT_INTERVAL, interval);
    }

    /** Which idle block goes first when a pool is full. */
    public Builder evictionPolicy(EvictionPolicy policy) {
      return set(MemoryOption.EVICTION_POLICY, policy);
    }

    /** Sets whether accelerators copy straight from each other where they can. */
    public Builder peerAccess(boolean straight) {
      return set(MemoryOption.PEER_ACCESS, straight);
    }

    /** Sets whether kernels in the background are submitted behind those that they depend on. */
    public Builder deviceOrder(boolean byDevice) {
      return set(MemoryOption.DEVICE_ORDER, byDevice);
    }

    /** Page-locked bytes at most over all managers of a Tidepool. */
    public Builder pinnedLimit(long bytes) {
      return set(MemoryOption.PINNED_LIMIT, bytes);
    }

    /** Transfers that run side by side. */
    public Builder concurrentTransfers(int count) {
      return set(MemoryOption.CONCURRENT_TRANSFERS, count);
    }

    /** Bytes of one staging block. */
    public Builder stagingChunk(long bytes) {
      return set(MemoryOption.STAGING_CHUNK, bytes);
    }

    /** Sets whether blocks are cleared before they go back to a pool. */
    public Builder zeroOnRelease(boolean zero) {
      return set(MemoryOption.ZERO_ON_RELEASE, zero);
    }

    /** Sets how much is recorded. */
    public Builder diagnostics(DiagnosticsLevel level) {
      return set(MemoryOption.DIAGNOSTICS, level);
    }

    /** The file that every allocation and every free is written to. */
    public Builder trace(Path file) {
      return set(MemoryOption.TRACE, Optional.of(file));
    }

    /**
     * Bytes that a manager holds at most: buffers, second copies and idle blocks; -1 for no limit.
     */
    public Builder memoryLimit(long bytes) {
      return set(MemoryOption.MEMORY_LIMIT, bytes);
    }

    /** Mean bytes from one allocation whose stack is taken to the next; 1 for all. */
    public Builder siteSampling(long bytes) {
      return set(MemoryOption.SITE_SAMPLING, bytes);
    }

    /**
     * Sets the listener for leaks and other findings; see {@link MemoryOptions#reportListener()}.
     */
    public Builder reportListener(Consumer<DiagnosticReport> listener) {
      this.reportListener = Optional.of(listener);
      return this;
    }

    /** Where idle buffers go when the host's memory or the limit is exhausted. */
    public Builder spillDirectory(Path directory) {
      return set(MemoryOption.SPILL_DIRECTORY, Optional.of(directory));
    }

    /** Sets the folder of the buffers that processes share. */
    public Builder sharedDirectory(Path folder) {
      return set(MemoryOption.SHARED_DIRECTORY, Optional.of(folder));
    }

    /** Sets whether idle blocks are given back when memory is short. */
    public Builder trimOnPressure(boolean trim) {
      return set(MemoryOption.TRIM_ON_PRESSURE, trim);
    }

    /** Sets whether memory is page-locked. */
    public Builder pinnedMemory(boolean lock) {
      return set(MemoryOption.PINNED_MEMORY, lock);
    }

    /** Idle bytes kept at most in a pool of page-locked memory. */
    public Builder pinnedPoolBytes(long bytes) {
      return set(MemoryOption.PINNED_POOL_BYTES, bytes);
    }

    /** Sets whether CUDA's managed memory serves UNIFIED buffers. */
    public Builder managedMemory(boolean use) {
      return set(MemoryOption.MANAGED_MEMORY, use);
    }

    /** Sets whether OpenCL devices compute in the host's memory where they share it. */
    public Builder zeroCopyBuffers(boolean use) {
      return set(MemoryOption.ZERO_COPY_BUFFERS, use);
    }

    /** Parts of the limit, or of the device's memory, at which the listener is called. */
    public Builder watermarks(double... parts) {
      return set(MemoryOption.WATERMARKS, Arrays.stream(parts).boxed().toList());
    }

    /** Is called when memory fills up. */
    public Builder pressureListener(Consumer<MemoryPressure> listener) {
      this.pressureListener = Optional.of(listener);
      return this;
    }

    /** Sets how many of the latest allocations and frees are kept for snapshots. */
    public Builder history(int events) {
      return set(MemoryOption.HISTORY, events);
    }

    /** The folder that a snapshot is written to when memory runs out. */
    public Builder dumpDirectory(Path directory) {
      return set(MemoryOption.DUMP_DIRECTORY, Optional.of(directory));
    }

    /** Sets how often a transfer is tried again after a transient error. */
    public Builder transferRetries(int count) {
      return set(MemoryOption.TRANSFER_RETRIES, count);
    }

    /** For how long after the first error a transfer is tried again. */
    public Builder transferRetryTime(Duration time) {
      return set(MemoryOption.TRANSFER_RETRY_TIME, time);
    }

    /** Sets whether management consoles see the manager. */
    public Builder jmx(boolean register) {
      return set(MemoryOption.JMX, register);
    }

    /** Sets whether the ways to a device are measured, and the cheapest is taken. */
    public Builder calibration(boolean measure) {
      return set(MemoryOption.CALIBRATION, measure);
    }

    /** The folder where calibrations are kept for the next run. */
    public Builder cacheDirectory(Path folder) {
      return set(MemoryOption.CACHE_DIRECTORY, Optional.of(folder));
    }

    /**
     * Returns the options, as properties and environment override them.
     *
     * @throws IllegalArgumentException if an option is out of its range; the message names its key
     */
    public MemoryOptions build() {
      MistypedOptions.warn(System.getProperties().stringPropertyNames(), System.getenv().keySet());
      Object[] set = values.clone();
      try {
        MemoryOption.all().forEach(this::override);
        return new MemoryOptions(this);
      } finally {
        // The next call reads properties and environment again.
        System.arraycopy(set, 0, values, 0, set.length);
      }
    }

    private void override(MemoryOption<?> option) {
      String name = option.property();
      String text = System.getProperty(name);
      if (text == null) {
        name = option.environmentVariable();
        text = environment.apply(name);
      }
      if (text != null) {
        parse(option, name, text);
      }
    }
  }
}
