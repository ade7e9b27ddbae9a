package dev.tidepool.transfer;

import dev.tidepool.TransferException;
import java.time.Duration;
import java.util.List;

/**
 * The report of a list of transfers.
 *
 * @param totalBytes the bytes that have arrived
 * @param elapsed the time from the call to the end of the last transfer
 * @param outcomes the outcome of each pair, in the order of the list
 */
public record TransferReport(long totalBytes, Duration elapsed, List<TransferOutcome> outcomes) {
  /** Copies the list. */
  public TransferReport {
    outcomes = List.copyOf(outcomes);
  }

  /** Returns the bytes per second over all pairs; 0 if none arrived. */
  public double averageBandwidth() {
    return totalBytes == 0 ? 0 : totalBytes * 1e9 / Math.max(1, elapsed.toNanos());
  }

  /** Returns how many pairs did not arrive, for any reason. */
  public int failures() {
    return (int) outcomes.stream().filter(outcome -> !outcome.isDone()).count();
  }

  /**
   * Returns this report if all pairs have arrived.
   *
   * @throws TransferException if a pair has not arrived; the cause is that of the first failure,
   *     and the others are suppressed exceptions
   */
  public TransferReport orThrow() {
    int failures = failures();
    if (failures == 0) {
      return this;
    }
    List<Throwable> causes =
        outcomes.stream().flatMap(outcome -> outcome.cause().stream()).toList();
    int stopped = failures - causes.size();
    String what =
        failures
            + " of "
            + outcomes.size()
            + " transfers did not arrive"
            + (stopped > 0 ? ", " + stopped + " of them stopped before they started" : "");
    TransferException thrown =
        causes.isEmpty()
            ? new TransferException(what, null)
            : new TransferException(
                what + "; the first: " + causes.getFirst().getMessage(), causes.getFirst());
    causes.stream().skip(1).forEach(thrown::addSuppressed);
    throw thrown;
  }
}
