package dev.tidepool.diagnostics;

import dev.tidepool.MemoryLocation;
import java.time.Duration;

/**
 * Reports a buffer over external memory (wrapped, adopted, mapped from a file, or shared with other
 * processes) whose newest bytes could not be copied back to that memory when the buffer was closed.
 * The memory keeps its old bytes.
 *
 * @param accelerator the accelerator of the manager
 * @param tag the tag of the buffer; empty if it has none
 * @param elementType the name of the element type
 * @param location the location of the buffer
 * @param bytes how many bytes were newer than those of the memory
 * @param cause why the bytes are lost, as one sentence
 * @param age the time since the buffer was created
 * @param site the stack that created it, a line for each frame; empty if it was not recorded
 */
public record LostResultReport(
    String accelerator,
    String tag,
    String elementType,
    MemoryLocation location,
    long bytes,
    String cause,
    Duration age,
    String site)
    implements DiagnosticReport {
  @Override
  public String toString() {
    return "the buffer"
        + (tag.isEmpty() ? "" : " '" + ReportText.visible(tag) + "'")
        + " of "
        + elementType
        + " in "
        + location
        + " on "
        + accelerator
        + " lost "
        + (bytes == 1 ? "1 byte" : bytes + " bytes")
        + " that were newer than its memory and could not be brought back to it: "
        + cause
        + "; made "
        + ReportText.origin(age, site);
  }
}
