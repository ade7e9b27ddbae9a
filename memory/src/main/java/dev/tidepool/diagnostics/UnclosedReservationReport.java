package dev.tidepool.diagnostics;

import dev.tidepool.Reservation;

/**
 * Reports a {@link Reservation} that was open when its manager was closed. The manager has closed
 * it. Until then no other request could use its bytes.
 *
 * @param accelerator the accelerator whose memory was reserved
 * @param tag the reservation's name; empty if it has none
 * @param bytes the reserved bytes
 * @param usedBytes the reserved bytes that buffers used
 */
public record UnclosedReservationReport(String accelerator, String tag, long bytes, long usedBytes)
    implements DiagnosticReport {
  /** Returns the empty string, because the site of a reservation is not recorded. */
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
