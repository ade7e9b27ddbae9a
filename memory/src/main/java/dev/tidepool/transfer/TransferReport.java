package dev.tidepool.transfer;

import dev.tidepool.TransferException;
import java.time.Duration;
import java.util.List;

/**
 * How a list of transfers ended.
 *
 * @param totalBytes bytes that have arrived
 * @param elapsed from the call to the end of the last transfer
 * @param outcomes one for each pair, in the order given
 */
public record TransferReport(long totalBytes, Duration elapsed, List<TransferOutcome> outcomes) {
  /** Keeps the outcomes as they are. */
  public TransferReport {
    outcomes = List.copyOf(outcomes);
  }

  /** Bytes a second, over all pairs together; 0 if none arrived. */
  public double averageBandwidth() {
    return totalBytes == 0 ? 0 : totalBytes * 1e9 / Math.max(1, elapsed.toNanos());
  }

  /** Returns how many pairs did not arrive, whatever the reason. */
  public int failures() {
    return (int) outcomes.stream().filter(outcome -> !outcome.isDone()).count();
  }

  /**
   * This report, if all pairs have arrived.
   *
   * @throws TransferException if one has not; its cause is the first failure's, and all others are
   *     suppressed
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
