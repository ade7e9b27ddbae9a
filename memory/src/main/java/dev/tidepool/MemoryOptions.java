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
 * The options of managers. Immutable; built by a {@link Builder}.
 *
 * {@snippet :
 * MemoryOptions options =
 *     MemoryOptions.builder().memoryLimit(2L << 30).spillDirectory(Path.of("/scratch")).build();
 * UnifiedMemoryManager memory = UnifiedMemoryManager.create(options);
 * }
 *
 * <p>Each option except the listeners has a key and is listed by {@link MemoryOption#all()}. The
 * system property {@code tidepool.KEY} overrides the value that the program set. The environment
 * variable {@code TIDEPOOL_KEY} (upper case, {@code _} for {@code -}) does so if the property is
 * not set.
 *
 * <p>An option applies to each manager separately, except for {@code peer-access}, {@code
 * pinned-limit}, {@code managed-memory}, {@code zero-copy-buffers}, {@code concurrent-transfers}
 * and {@code trace}: these apply to the whole {@link Tidepool}, and {@link
 * UnifiedMemoryManager#create(Accelerator, MemoryOptions)} rejects other values.
 */
public final class MemoryOptions {
  // Indexed by {@link MemoryOption#index()}.
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

  /** Returns the default options, as overridden by system properties and environment variables. */
  public static MemoryOptions defaults() {
    return builder().build();
  }

  /** Returns a builder that starts from the defaults. */
  public static Builder builder() {
    return new Builder(System::getenv);
  }

  /**
   * Returns options from a map of keys to values as text. Options without an entry have their
   * defaults.
   *
   * @throws IllegalArgumentException if a key is unknown, or a value is out of its range; the
   *     message names the key
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

  /** Returns the value of an option. */
  @SuppressWarnings("unchecked") // The builder puts values of the option's type only.
  public <T> T get(MemoryOption<T> option) {
    return (T) values[option.index()];
  }

  /** Returns whether blocks are kept for reuse. Key {@code pooling}; default true. */
  public boolean pooling() {
    return get(MemoryOption.POOLING);
  }

  /**
   * Returns the most idle bytes that one pool keeps; -1 for a quarter of the memory's total or 4
   * GiB, whichever is less. Idle blocks below 64 KiB whose neighbours are in use are kept in
   * addition. Key {@code max-pool-bytes}; default -1.
   */
  public long maxPoolBytes() {
    return get(MemoryOption.MAX_POOL_BYTES);
  }

  /**
   * Returns the most idle bytes that one size class keeps. Key {@code max-pool-bytes-per-class};
   * default 1 GiB.
   */
  public long maxPoolBytesPerClass() {
    return get(MemoryOption.MAX_POOL_BYTES_PER_CLASS);
  }

  /**
   * Returns the idle bytes that trimming by time leaves in a pool. Key {@code kept-pool-bytes};
   * default 64 MiB.
   */
  public long keptPoolBytes() {
    return get(MemoryOption.KEPT_POOL_BYTES);
  }

  /**
   * Returns how often the pools free the blocks that were idle for the whole interval; zero means
   * never. Key {@code trim-interval}; default 5 minutes.
   */
  public Duration trimInterval() {
    return get(MemoryOption.TRIM_INTERVAL);
  }

  /**
   * Returns how often small buffers are moved together while more than a quarter of the device
   * memory held is idle beside them. Zero means only on request and when memory runs out. Key
   * {@code defragment-interval}; default 5 minutes.
   */
  public Duration defragmentInterval() {
    return get(MemoryOption.DEFRAGMENT_INTERVAL);
  }

  /**
   * Returns whether all idle blocks are freed when less than a sixteenth of their memory, the
   * device's or the host's, is free. The library checks this four times a second. Key {@code
   * trim-on-pressure}; default true.
   */
  public boolean trimOnPressure() {
    return get(MemoryOption.TRIM_ON_PRESSURE);
  }

  /**
   * Returns which idle block is evicted first when a pool is full. With {@code TIME_TO_LIVE} it is
   * the block that was allocated first; trimming by time then frees blocks that were allocated an
   * interval ago, even if they were used since. Key {@code eviction-policy}; default {@code LRU}.
   */
  public EvictionPolicy evictionPolicy() {
    return get(MemoryOption.EVICTION_POLICY);
  }

  /**
   * Returns whether accelerators copy directly from each other where they can. Otherwise bytes
   * between them pass through the host, until {@link PeerAccess#enable} allows direct copies. Key
   * {@code peer-access}; default true.
   */
  public boolean peerAccess() {
    return get(MemoryOption.PEER_ACCESS);
  }

  /**
   * Returns whether a kernel that is executed in the background is submitted behind the kernels
   * that it depends on, where the device can order them. Otherwise it is submitted when they have
   * ended. Key {@code device-order}; default true.
   */
  public boolean deviceOrder() {
    return get(MemoryOption.DEVICE_ORDER);
  }

  /**
   * Returns the most page-locked bytes that all managers of a {@link Tidepool} hold together; -1
   * for a quarter of the machine's memory. Key {@code pinned-limit}; default -1.
   */
  public long pinnedLimit() {
    return get(MemoryOption.PINNED_LIMIT);
  }

  /**
   * Returns whether memory is page-locked, for PINNED buffers and for the blocks that transfers go
   * through. Otherwise plain memory takes its place, and {@link MemoryStatistics#pinnedFallbacks()}
   * counts each block allocated for a PINNED buffer. Key {@code pinned-memory}; default true.
   */
  public boolean pinnedMemory() {
    return get(MemoryOption.PINNED_MEMORY);
  }

  /**
   * Returns the most idle bytes that a pool of page-locked memory keeps; -1 for the bound of {@link
   * #maxPoolBytes()}. Key {@code pinned-pool-bytes}; default -1.
   */
  public long pinnedPoolBytes() {
    return get(MemoryOption.PINNED_POOL_BYTES);
  }

  /**
   * Returns whether UNIFIED buffers use CUDA's managed memory. Otherwise CUDA devices do not have
   * {@link Capability#UNIFIED_MEMORY}, and allocating such a buffer there throws {@link
   * UnsupportedOperationException}. Key {@code managed-memory}; default true.
   */
  public boolean managedMemory() {
    return get(MemoryOption.MANAGED_MEMORY);
  }

  /**
   * Returns whether OpenCL devices that share the host's memory compute in it. Otherwise bytes are
   * copied to memory of their own, and they do not have {@link Capability#SHARED_MEMORY}. Key
   * {@code zero-copy-buffers}; default true.
   */
  public boolean zeroCopyBuffers() {
    return get(MemoryOption.ZERO_COPY_BUFFERS);
  }

  /** Returns how many transfers run concurrently. Key {@code concurrent-transfers}; default 4. */
  public int concurrentTransfers() {
    return get(MemoryOption.CONCURRENT_TRANSFERS);
  }

  /**
   * Returns the bytes of one staging block, from 4 KiB to 1 GiB. Key {@code staging-chunk}; default
   * 4 MiB.
   */
  public long stagingChunk() {
    return get(MemoryOption.STAGING_CHUNK);
  }

  /**
   * Returns whether blocks are cleared before they are returned to a pool. Key {@code
   * zero-on-release}; default false.
   */
  public boolean zeroOnRelease() {
    return get(MemoryOption.ZERO_ON_RELEASE);
  }

  /** Returns how much is recorded. Key {@code diagnostics}; default {@code COUNTERS}. */
  public DiagnosticsLevel diagnostics() {
    return get(MemoryOption.DIAGNOSTICS);
  }

  /**
   * Returns the file to which every allocation and every free of the {@link Tidepool}'s managers is
   * written, for {@code tidepool bench --replay}. An existing file is replaced; further Tidepools
   * of one process append {@code .2}, {@code .3} and so on to the name. Key {@code trace}; default
   * none.
   */
  public Optional<Path> trace() {
    return get(MemoryOption.TRACE);
  }

  /**
   * Returns the most bytes that a manager holds from drivers and the system; -1 for no limit. Its
   * buffers, their second copies and its idle blocks count, each rounded up to its size class.
   * Arrays on the heap, wrapped memory and mapped files do not count, nor do the staging blocks of
   * running transfers once the limit is reached. At the limit, as when a driver refuses, the
   * manager first frees all that it can; an allocation fails only if that was not enough. Key
   * {@code memory-limit}; default -1.
   */
  public long memoryLimit() {
    return get(MemoryOption.MEMORY_LIMIT);
  }

  /**
   * Returns the mean distance in allocated bytes between allocations whose stacks are recorded at
   * level {@link DiagnosticsLevel#SITES}; 1 records every one. If many are recorded within a
   * quarter of a second, the distance doubles with each further one, so that large buffers do not
   * cost more than small ones. Key {@code site-sampling}; default 512 KiB.
   */
  public long siteSampling() {
    return get(MemoryOption.SITE_SAMPLING);
  }

  /**
   * Returns the listener for leaks and other findings, which are logged as well; none by default. A
   * manager calls it on a thread of the library, for one report after another, in their order, and
   * without holding a lock. Exceptions of the listener are logged. {@link
   * UnifiedMemoryManager#close()} waits up to five seconds until the listener has been called for
   * all reports. A listener that blocks for longer receives the remaining reports when it
   * continues, unless the process has ended by then.
   */
  public Optional<Consumer<DiagnosticReport>> reportListener() {
    return reportListener;
  }

  /**
   * Returns the folder for buffers that do not fit into the host's memory or the limit. The least
   * recently used idle buffers are written there first, and are read back when they are used. The
   * folder must exist, on a local disk. Each manager has one file there, which only its owner may
   * open, and which is deleted when the manager closes or its process dies. Key {@code
   * spill-directory}; default none.
   */
  public Optional<Path> spillDirectory() {
    return get(MemoryOption.SPILL_DIRECTORY);
  }

  /**
   * Returns the folder of the buffers that processes share. It must belong to this user alone, and
   * is created if it is missing. Key {@code shared-directory}; default {@code
   * /dev/shm/tidepool-UID} on Linux, {@code tidepool-UID} in {@code java.io.tmpdir} elsewhere.
   */
  public Optional<Path> sharedDirectory() {
    return get(MemoryOption.SHARED_DIRECTORY);
  }

  /**
   * Returns the parts of the limit, or of the device's memory if there is no limit, at which the
   * {@linkplain #pressureListener() pressure listener} is called. Marks of a limit are checked at
   * once, others four times a second. Key {@code watermarks}; default 0.7 and 0.9.
   */
  public List<Double> watermarks() {
    return get(MemoryOption.WATERMARKS);
  }

  /**
   * Returns the listener that is called when a manager reaches a watermark, and when nine tenths of
   * its device are in use by any process, which is checked four times a second; none by default. It
   * is called again only after the level has fallen by 0.05 of the total below the mark. It is
   * called on threads of the library, without a lock held, and may close buffers.
   */
  public Optional<Consumer<MemoryPressure>> pressureListener() {
    return pressureListener;
  }

  /**
   * Returns how many of the latest allocations and frees are kept for {@link
   * UnifiedMemoryManager#snapshot()}. -1 stands for 100,000 at level {@link
   * DiagnosticsLevel#PARANOID} or with a {@code dump-directory}, otherwise for none. Key {@code
   * history}; default -1.
   */
  public int history() {
    return get(MemoryOption.HISTORY);
  }

  /**
   * Returns the folder to which a snapshot is written when memory runs out, until it holds eight.
   * Key {@code dump-directory}; default none.
   */
  public Optional<Path> dumpDirectory() {
    return get(MemoryOption.DUMP_DIRECTORY);
  }

  /**
   * Returns how often a transfer is retried after a transient error, at most. Key {@code
   * transfer-retries}; default 3.
   */
  public int transferRetries() {
    return get(MemoryOption.TRANSFER_RETRIES);
  }

  /**
   * Returns for how long after its first transient error a transfer is retried, at most. Key {@code
   * transfer-retry-time}; default 1 second.
   */
  public Duration transferRetryTime() {
    return get(MemoryOption.TRANSFER_RETRY_TIME);
  }

  /**
   * Returns whether the manager is registered as a {@link UnifiedMemoryMXBean} for management
   * consoles. Key {@code jmx}; default false, because registration makes the start slower.
   */
  public boolean jmx() {
    return get(MemoryOption.JMX);
  }

  /**
   * Returns whether the ways to a device with memory of its own are measured before the first
   * transfer of 8 MiB or more. The measurement takes some tens of milliseconds, and the cheapest
   * way is used from then on. The figures are kept in the {@linkplain #cacheDirectory() cache} for
   * the next run. Otherwise the order of ways is fixed until {@link
   * dev.tidepool.transfer.TransferEngine#calibrate()} is called. Key {@code calibration}; default
   * false.
   */
  public boolean calibration() {
    return get(MemoryOption.CALIBRATION);
  }

  /**
   * Returns the folder where calibrations are kept for the next run, which only its owner may
   * enter. Key {@code cache-directory}; default {@code tidepool/calibration} in {@code
   * XDG_CACHE_HOME} if that is set, otherwise in {@code ~/.cache}, on macOS {@code
   * ~/Library/Caches}, on Windows {@code LOCALAPPDATA}.
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

  /** Returns the options that differ from their defaults. */
  @Override
  public String toString() {
    return MemoryOption.all().stream()
        .filter(option -> !get(option).equals(option.defaultValue()))
        .map(option -> option.key() + "=" + get(option))
        .collect(Collectors.joining(", ", "MemoryOptions[", "]"));
  }

  /**
   * Builds {@link MemoryOptions}. Not safe for concurrent use.
   *
   * <p>A setter throws {@link IllegalArgumentException} if the value is out of the option's range.
   * The accessors of {@link MemoryOptions} say what each option means, and its default.
   */
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
     * Sets an option by its key, from text, as properties and environment variables do.
     *
     * @throws IllegalArgumentException if the key is unknown, or the value is out of its range
     */
    public Builder set(String key, String value) {
      parse(MemoryOption.named(key), key, value);
      return this;
    }

    /** Sets an option from text. Messages call its source {@code name}. */
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

    /**
     * Sets the most idle bytes that one pool keeps, or -1 for the default. Also lowers {@link
     * #keptPoolBytes} if it is larger.
     */
    public Builder maxPoolBytes(long bytes) {
      return set(MemoryOption.MAX_POOL_BYTES, bytes);
    }

    /** Sets the most idle bytes that one size class keeps. */
    public Builder maxPoolBytesPerClass(long bytes) {
      return set(MemoryOption.MAX_POOL_BYTES_PER_CLASS, bytes);
    }

    /** Sets the idle bytes that trimming by time leaves in a pool. */
    public Builder keptPoolBytes(long bytes) {
      return set(MemoryOption.KEPT_POOL_BYTES, bytes);
    }

    /** Sets how often the pools free idle blocks; zero means never. */
    public Builder trimInterval(Duration interval) {
      return set(MemoryOption.TRIM_INTERVAL, interval);
    }

    /**
     * Sets how often scattered small buffers are moved together; zero means only on request and
     * when memory runs out.
     */
    public Builder defragmentInterval(Duration interval) {
      return set(MemoryOption.DEFRAGMENT_INTERVAL, interval);
    }

    /** Sets which idle block is evicted first when a pool is full. */
    public Builder evictionPolicy(EvictionPolicy policy) {
      return set(MemoryOption.EVICTION_POLICY, policy);
    }

    /** Sets whether accelerators copy directly from each other where they can. */
    public Builder peerAccess(boolean straight) {
      return set(MemoryOption.PEER_ACCESS, straight);
    }

    /** Sets whether background kernels are submitted behind the kernels that they depend on. */
    public Builder deviceOrder(boolean byDevice) {
      return set(MemoryOption.DEVICE_ORDER, byDevice);
    }

    /**
     * Sets the most page-locked bytes that all managers of a Tidepool hold together, or -1 for the
     * default.
     */
    public Builder pinnedLimit(long bytes) {
      return set(MemoryOption.PINNED_LIMIT, bytes);
    }

    /** Sets how many transfers run concurrently, at least 1. */
    public Builder concurrentTransfers(int count) {
      return set(MemoryOption.CONCURRENT_TRANSFERS, count);
    }

    /** Sets the bytes of one staging block, from 4 KiB to 1 GiB. */
    public Builder stagingChunk(long bytes) {
      return set(MemoryOption.STAGING_CHUNK, bytes);
    }

    /** Sets whether blocks are cleared before they are returned to a pool. */
    public Builder zeroOnRelease(boolean zero) {
      return set(MemoryOption.ZERO_ON_RELEASE, zero);
    }

    /** Sets how much is recorded. */
    public Builder diagnostics(DiagnosticsLevel level) {
      return set(MemoryOption.DIAGNOSTICS, level);
    }

    /** Sets the file to which every allocation and every free is written. */
    public Builder trace(Path file) {
      return set(MemoryOption.TRACE, Optional.of(file));
    }

    /**
     * Sets the most bytes that a manager holds: buffers, second copies and idle blocks; -1 for no
     * limit.
     */
    public Builder memoryLimit(long bytes) {
      return set(MemoryOption.MEMORY_LIMIT, bytes);
    }

    /**
     * Sets the mean allocated bytes between allocations whose stacks are recorded; 1 records every
     * one.
     */
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

    /** Sets the folder for idle buffers that do not fit into the host's memory or the limit. */
    public Builder spillDirectory(Path directory) {
      return set(MemoryOption.SPILL_DIRECTORY, Optional.of(directory));
    }

    /** Sets the folder of the buffers that processes share. */
    public Builder sharedDirectory(Path folder) {
      return set(MemoryOption.SHARED_DIRECTORY, Optional.of(folder));
    }

    /** Sets whether idle blocks are freed when memory is short. */
    public Builder trimOnPressure(boolean trim) {
      return set(MemoryOption.TRIM_ON_PRESSURE, trim);
    }

    /** Sets whether memory is page-locked. */
    public Builder pinnedMemory(boolean lock) {
      return set(MemoryOption.PINNED_MEMORY, lock);
    }

    /** Sets the most idle bytes that a pool of page-locked memory keeps, or -1 for the default. */
    public Builder pinnedPoolBytes(long bytes) {
      return set(MemoryOption.PINNED_POOL_BYTES, bytes);
    }

    /** Sets whether UNIFIED buffers use CUDA's managed memory. */
    public Builder managedMemory(boolean use) {
      return set(MemoryOption.MANAGED_MEMORY, use);
    }

    /** Sets whether OpenCL devices compute in the host's memory where they share it. */
    public Builder zeroCopyBuffers(boolean use) {
      return set(MemoryOption.ZERO_COPY_BUFFERS, use);
    }

    /**
     * Sets the parts of the limit, or of the device's memory, at which the pressure listener is
     * called. Each is above 0 and at most 1.
     */
    public Builder watermarks(double... parts) {
      return set(MemoryOption.WATERMARKS, Arrays.stream(parts).boxed().toList());
    }

    /** Sets the listener for memory that fills up; see {@link MemoryOptions#pressureListener()}. */
    public Builder pressureListener(Consumer<MemoryPressure> listener) {
      this.pressureListener = Optional.of(listener);
      return this;
    }

    /**
     * Sets how many of the latest allocations and frees are kept for snapshots, or -1 for the
     * default.
     */
    public Builder history(int events) {
      return set(MemoryOption.HISTORY, events);
    }

    /** Sets the folder to which a snapshot is written when memory runs out. */
    public Builder dumpDirectory(Path directory) {
      return set(MemoryOption.DUMP_DIRECTORY, Optional.of(directory));
    }

    /** Sets how often a transfer is retried after a transient error, at most. */
    public Builder transferRetries(int count) {
      return set(MemoryOption.TRANSFER_RETRIES, count);
    }

    /** Sets for how long after the first error a transfer is retried, at most. */
    public Builder transferRetryTime(Duration time) {
      return set(MemoryOption.TRANSFER_RETRY_TIME, time);
    }

    /** Sets whether the manager is registered for management consoles. */
    public Builder jmx(boolean register) {
      return set(MemoryOption.JMX, register);
    }

    /** Sets whether the ways to a device are measured, so that transfers use the cheapest. */
    public Builder calibration(boolean measure) {
      return set(MemoryOption.CALIBRATION, measure);
    }

    /** Sets the folder where calibrations are kept for the next run. */
    public Builder cacheDirectory(Path folder) {
      return set(MemoryOption.CACHE_DIRECTORY, Optional.of(folder));
    }

    /**
     * Returns the options, as overridden by system properties and environment variables.
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
