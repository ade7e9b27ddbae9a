package dev.tidepool.transfer;

import dev.tidepool.MemoryOptions;
import dev.tidepool.TransferException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * How a list of transfers is performed. Immutable; made by a {@link Builder}.
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
 * @param priority which transfer goes first where transfers wait for each other; NORMAL
 * @param maxConcurrency transfers of the list that are under way at once, at most; 0 for as many as
 *     the {@link MemoryOptions#concurrentTransfers() manager allows}, which no value exceeds. Small
 *     ones that travel together count as one, and are not split
 * @param pinned whether bytes may use page-locked memory, the buffers' own or staging blocks; true.
 *     Otherwise they pass through staging blocks of plain memory
 * @param pipelining whether a chunk may begin before the one before it has arrived; true
 * @param chunkSize bytes of one chunk, from 4 KiB to 1 GiB; 0 for what the engine finds best
 * @param verified whether checksums (CRC32C) of the source and of what arrived are compared; false.
 *     Both sides are read once more for it, over the link where they are on a device, so it takes
 *     two to three times as long. What arrived damaged is transferred again as after a transient
 *     error, and fails with a {@link TransferException} in the end. Padding of structs does not
 *     count
 * @param deadline after which no transfer of the list starts any more; none
 * @param retries how often a transfer is tried again after a transient error, at most; -1 for as
 *     often as the {@link MemoryOptions#transferRetries() manager's option} says
 * @param progress is told how far the list is; none
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

  /** Checks the ranges. */
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

  /** Returns the defaults. */
  public static TransferOptions defaults() {
    return DEFAULTS;
  }

  /** Returns a builder that starts from the defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /** Collects options; not safe for concurrent use. */
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

    /** Sets which transfer goes first where transfers wait for each other. */
    public Builder priority(TransferPriority priority) {
      this.priority = priority;
      return this;
    }

    /** Transfers of the list that are on their way at once. */
    public Builder maxConcurrency(int count) {
      this.maxConcurrency = count;
      return this;
    }

    /** Sets whether bytes may use page-locked memory. */
    public Builder pinned(boolean pinned) {
      this.pinned = pinned;
      return this;
    }

    /** Sets whether a chunk may begin before the one before it has arrived. */
    public Builder pipelining(boolean pipelining) {
      this.pipelining = pipelining;
      return this;
    }

    /** Bytes of one chunk. */
    public Builder chunkSize(long bytes) {
      this.chunkSize = bytes;
      return this;
    }

    /** Sets whether checksums of the source and of what arrived are compared. */
    public Builder verified(boolean verified) {
      this.verified = verified;
      return this;
    }

    /** After which time no transfer of the list starts any more. */
    public Builder deadline(Duration deadline) {
      this.deadline = Optional.of(deadline);
      return this;
    }

    /** Sets how often a transfer is tried again after a transient error. */
    public Builder retries(int count) {
      this.retries = count;
      return this;
    }

    /** Sets the listener that is told how far the list is. */
    public Builder progress(TransferProgress listener) {
      this.progress = listener;
      return this;
    }

    /**
     * Returns the options.
     *
     * @throws IllegalArgumentException if one is out of its range; the message names it
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
