package dev.tidepool.diagnostics;

import java.time.Duration;

/**
 * Reports a buffer whose guard zone was overwritten, by a hand-written kernel or by native code
 * that used an address outside of the buffer. Detected at the level {@link
 * DiagnosticsLevel#PARANOID}.
 *
 * @param accelerator the accelerator of the manager
 * @param tag the tag of the buffer; empty if it has none
 * @param elementType the name of the element type
 * @param bytes the bytes of the buffer
 * @param offset the position of the first damaged byte, counted from the buffer's first: negative
 *     before the buffer, {@code bytes} or more after it
 * @param damaged how many bytes of the guard zone have changed
 * @param age the time since the allocation
 * @param site the stack of the allocation, a line for each frame
 */
public record GuardReport(
    String accelerator,
    String tag,
    String elementType,
    long bytes,
    long offset,
    long damaged,
    Duration age,
    String site)
    implements DiagnosticReport {
  @Override
  public String toString() {
    return (damaged == 1 ? "1 byte was" : damaged + " bytes were")
        + " written "
        + (offset < 0
            ? "before the first byte, from byte " + offset + " on,"
            : "behind the last byte, from byte " + offset + " on,")
        + " of the buffer"
        + (tag.isEmpty() ? "" : " '" + ReportText.visible(tag) + "'")
        + " of "
        + elementType
        + " on "
        + accelerator
        + ", "
        + bytes
        + " bytes; allocated "
        + ReportText.origin(age, site);
  }
}
