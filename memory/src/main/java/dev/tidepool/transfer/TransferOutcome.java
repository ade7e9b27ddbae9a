package dev.tidepool.transfer;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * How one pair of a list of transfers ended.
 *
 * @param status how it ended
 * @param bytes that have arrived for certain: all, or none
 * @param duration from the moment its turn came; zero if it never did. Each of several small
 *     transfers that travelled together has the time of all
 * @param attempts how often it was tried; 0 if it never was
 * @param cause why it failed; empty unless it did
 */
public record TransferOutcome(
    Status status, long bytes, Duration duration, int attempts, Optional<Throwable> cause) {
  /** How a transfer ends. */
  public enum Status {
    /** All bytes have arrived. */
    DONE,
    /** It could not be started, or could not be finished; the cause says why. */
    FAILED,
    /** It was stopped before it started. */
    CANCELLED,
    /** The deadline came before it had started. */
    LATE
  }

  /** Checks that nothing is missing. */
  public TransferOutcome {
    Objects.requireNonNull(status, "status");
    Objects.requireNonNull(duration, "duration");
    Objects.requireNonNull(cause, "cause");
  }

  /** Returns whether all bytes have arrived. */
  public boolean isDone() {
    return status == Status.DONE;
  }
}
