package dev.tidepool.transfer;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/**
 * The outcome of one pair of a list of transfers.
 *
 * @param status how the transfer ended
 * @param bytes the bytes that have certainly arrived: all or none
 * @param duration the time from the start of the transfer to its end; zero if it was not started.
 *     Small transfers that were combined each have the time of all
 * @param attempts how often the transfer was tried; may be 0
 * @param cause the reason of a failure; empty if the transfer did not fail
 */
public record TransferOutcome(
    Status status, long bytes, Duration duration, int attempts, Optional<Throwable> cause) {
  /** How a transfer ends. */
  public enum Status {
    /** All bytes have arrived. */
    DONE,
    /** The transfer could not be started, or could not be finished; the cause says why. */
    FAILED,
    /** The transfer was cancelled before it started. */
    CANCELLED,
    /** The deadline passed before the transfer started. */
    LATE
  }

  /** Checks that no component is null. */
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
