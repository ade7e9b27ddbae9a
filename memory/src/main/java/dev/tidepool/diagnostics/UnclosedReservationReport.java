package dev.tidepool.diagnostics;

import dev.tidepool.Reservation;

/**
 * A {@link Reservation} that was open when its manager was closed. The close has ended it. Until
 * then no other request could have the bytes.
 *
 * @param accelerator the accelerator whose memory was reserved
 * @param tag the reservation's name; empty if it had none
 * @param bytes how many were reserved
 * @param usedBytes how many of them buffers had
 */
public record UnclosedReservationReport(String accelerator, String tag, long bytes, long usedBytes)
    implements DiagnosticReport {
  /** Empty: where it was reserved is not recorded. */
  @Override
  public String site() {
    return "";
  }

  @Override
  public String toString() {
    return (tag.isEmpty() ? "a reservation" : "the reservation '" + ReportText.visible(tag) + "'")
        + " of "
        + bytes
        + " bytes of "
        + accelerator
        + ", of which buffers had "
        + usedBytes
        + ", was open when its manager was closed; close it, or open it in try-with-resources";
  }
}
