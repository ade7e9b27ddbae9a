package dev.tidepool.transfer;

import dev.tidepool.MemoryOptions;
import dev.tidepool.TransferException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * Options of a list of transfers. Immutable; built by a {@link Builder}.
 *
 * {@snippet :
 * TransferOptions options =
 *     TransferOptions.builder()
 *         .priority(TransferPriority.HIGH)
 *         .deadline(Duration.ofSeconds(2))
 *         .verified(true)
 *         .build();
 * }
 *
 * @param priority which transfer goes first if transfers compete; default NORMAL
 * @param maxConcurrency the most transfers of the list that run at the same time; 0, the default,
 *     for as many as the {@link MemoryOptions#concurrentTransfers() manager allows}, which no value
 *     exceeds. Small ones that are combined count as one and are not split
 * @param pinned whether transfers may use page-locked memory, of the buffers or of staging blocks;
 *     default true. Otherwise they use staging blocks of plain memory
 * @param pipelining whether a chunk may start before the previous chunk has arrived; default true
 * @param chunkSize the bytes of one chunk, from 4 KiB to 1 GiB; 0, the default, lets the engine
 *     choose
 * @param verified whether checksums (CRC32C) of source and destination are compared after a
 *     transfer; default false. Both are read once more, over the link if they are on a device, so a
 *     transfer takes two to three times as long. Damaged data is transferred again as after a
 *     transient error, and finally fails with a {@link TransferException}. Padding of structs is
 *     ignored
 * @param deadline the time after which no transfer of the list starts any more, at most 292 years;
 *     default none
 * @param retries how often a transfer is retried after a transient error, at most; -1, the default,
 *     for the {@link MemoryOptions#transferRetries() manager's option}
 * @param progress the listener for the progress of the list; default none
 */
public record TransferOptions(
    TransferPriority priority,
    int maxConcurrency,
    boolean pinned,
    boolean pipelining,
    long chunkSize,
    boolean verified,
    Optional<Duration> deadline,
    int retries,
    TransferProgress progress) {
  private static final TransferOptions DEFAULTS = builder().build();
  private static final Duration LONGEST_DEADLINE = Duration.ofNanos(Long.MAX_VALUE);
  private static final long SMALLEST_CHUNK = 4096;
  private static final long LARGEST_CHUNK = 1L << 30;

  /**
   * Checks the ranges of the numbers.
   *
   * @throws IllegalArgumentException if an option is out of its range; the message names it
   */
  public TransferOptions {
    Objects.requireNonNull(priority, "priority");
    Objects.requireNonNull(deadline, "deadline");
    Objects.requireNonNull(progress, "progress");
    check(maxConcurrency >= 0, "maxConcurrency", maxConcurrency, "1 or more, or 0 for the default");
    check(
        chunkSize == 0 || (chunkSize >= SMALLEST_CHUNK && chunkSize <= LARGEST_CHUNK),
        "chunkSize",
        chunkSize,
        "from " + SMALLEST_CHUNK + " to " + LARGEST_CHUNK + ", or 0 for the default");
    check(
        deadline.isEmpty()
            || (deadline.get().isPositive() && deadline.get().compareTo(LONGEST_DEADLINE) <= 0),
        "deadline",
        deadline.map(Duration::toString).orElse("none"),
        "more than zero, and at most 292 years");
    check(retries >= -1, "retries", retries, "0 or more, or -1 for the default");
  }

  private static void check(boolean holds, String option, Object value, String rule) {
    if (!holds) {
      throw new IllegalArgumentException(option + " is " + value + "; it must be " + rule);
    }
  }

  /** Returns the default options. */
  public static TransferOptions defaults() {
    return DEFAULTS;
  }

  /** Returns a builder that starts from the defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Builds {@link TransferOptions}, whose components say what each option means, and its default.
   * Not safe for concurrent use.
   */
  public static final class Builder {
    private TransferPriority priority = TransferPriority.NORMAL;
    private int maxConcurrency;
    private boolean pinned = true;
    private boolean pipelining = true;
    private long chunkSize;
    private boolean verified;
    private Optional<Duration> deadline = Optional.empty();
    private int retries = -1;
    private TransferProgress progress = TransferProgress.NONE;

    private Builder() {}

    /** Sets which transfer goes first if transfers compete. */
    public Builder priority(TransferPriority priority) {
      this.priority = priority;
      return this;
    }

    /**
     * Sets the most transfers of the list that run at the same time, or 0 for the manager's
     * maximum.
     */
    public Builder maxConcurrency(int count) {
      this.maxConcurrency = count;
      return this;
    }

    /** Sets whether transfers may use page-locked memory. */
    public Builder pinned(boolean pinned) {
      this.pinned = pinned;
      return this;
    }

    /** Sets whether a chunk may start before the previous chunk has arrived. */
    public Builder pipelining(boolean pipelining) {
      this.pipelining = pipelining;
      return this;
    }

    /** Sets the bytes of one chunk, from 4 KiB to 1 GiB, or 0 to let the engine choose. */
    public Builder chunkSize(long bytes) {
      this.chunkSize = bytes;
      return this;
    }

    /** Sets whether checksums of source and destination are compared after a transfer. */
    public Builder verified(boolean verified) {
      this.verified = verified;
      return this;
    }

    /** Sets the time after which no transfer of the list starts any more. */
    public Builder deadline(Duration deadline) {
      this.deadline = Optional.of(deadline);
      return this;
    }

    /**
     * Sets how often a transfer is retried after a transient error, at most, or -1 for the
     * manager's option.
     */
    public Builder retries(int count) {
      this.retries = count;
      return this;
    }

    /** Sets the listener for the progress of the list. */
    public Builder progress(TransferProgress listener) {
      this.progress = listener;
      return this;
    }

    /**
     * Returns the options.
     *
     * @throws IllegalArgumentException if an option is out of its range; the message names it
     */
    public TransferOptions build() {
      return new TransferOptions(
          priority,
          maxConcurrency,
          pinned,
          pipelining,
          chunkSize,
          verified,
          deadline,
          retries,
          progress);
    }
  }
}
