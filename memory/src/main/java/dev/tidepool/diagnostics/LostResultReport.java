package dev.tidepool.diagnostics;

import dev.tidepool.MemoryLocation;
import java.time.Duration;

/**
 * A buffer over memory that outlives it (wrapped, adopted, mapped from a file, or shared with other
 * processes) whose newest bytes could not be brought back to that memory when the buffer ended. The
 * memory keeps what it had before.
 *
 * @param accelerator the accelerator of its manager
 * @param tag the tag of its allocation; empty if it had none
 * @param elementType what its elements are, by name
 * @param location where it was allocated
 * @param bytes how many bytes were newer than those of the memory
 * @param cause why they are lost, one sentence
 * @param age the time since the buffer was made
 * @param site the stack that made it, a line for each frame; empty if that was not recorded
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
