package dev.tidepool.diagnostics;

import dev.tidepool.NativeAccess;

/**
 * Reports a {@link NativeAccess} that became unreachable without being closed. The library has
 * closed it as {@link NativeAccess#close()} does; until then its buffers could not be used.
 *
 * @param accelerator the accelerator whose manager lent the buffers
 * @param tag the tag of the first buffer; empty if it has none
 * @param buffers the number of lent buffers
 * @param bytes the sum of their bytes
 * @param site the stack that lent them, a line for each frame; empty below the level PARANOID
 */
public record UnclosedAccessReport(
    String accelerator, String tag, int buffers, long bytes, String site)
    implements DiagnosticReport {
  @Override
  public String toString() {
    return "a NativeAccess to "
        + (buffers == 1 ? "1 buffer" : buffers + " buffers")
        + (tag.isEmpty() ? "" : " ('" + ReportText.visible(tag) + "')")
        + " of "
        + accelerator
        + " with "
        + bytes
        + " bytes became unreachable without close() and was ended; close it, or open it in"
        + " try-with-resources"
        + (site.isEmpty() ? "" : "; lent at\n    " + site.replace("\n", "\n    "));
  }
}
