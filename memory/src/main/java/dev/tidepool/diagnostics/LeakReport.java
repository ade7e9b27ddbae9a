package dev.tidepool.diagnostics;

import dev.tidepool.MemoryLocation;
import java.time.Duration;

/**
 * Reports buffers that were not closed. Buffers with the same tag, type, location and site that are
 * detected at the same time share one report, so that ten thousand leaks of one site are reported
 * once.
 *
 * @param cause how the leak was detected
 * @param accelerator the accelerator of the manager
 * @param tag the tag of the buffers; empty if they have none
 * @param elementType the name of the element type
 * @param location where the memory was allocated first
 * @param buffers the number of buffers
 * @param bytes the sum of their bytes
 * @param age the time since the oldest allocation
 * @param site the stack of the allocations, a line for each frame; empty if it was not recorded
 */
public record LeakReport(
    Cause cause,
    String accelerator,
    String tag,
    String elementType,
    MemoryLocation location,
    long buffers,
    long bytes,
    Duration age,
    String site)
    implements DiagnosticReport {

  /** How a leak was detected. */
  public enum Cause {
    /** The program had no reference to the buffers; they were reclaimed. */
    UNREACHABLE,
    /** The manager was closed before the buffers, and freed them. */
    OPEN_AT_CLOSE
  }

  @Override
  public String toString() {
    boolean one = buffers == 1;
    return (one ? "1 buffer" : buffers + " buffers")
        + (tag.isEmpty() ? "" : " '" + ReportText.visible(tag) + "'")
        + " of "
        + elementType
        + " in "
        + location
        + " on "
        + accelerator
        + ", "
        + bytes
        + " bytes, "
        + switch (cause) {
          case UNREACHABLE ->
              "became unreachable without close() and " + (one ? "was" : "were") + " reclaimed";
          case OPEN_AT_CLOSE ->
              one
                  ? "was open when its manager was closed, and was freed"
                  : "were open when their manager was closed, and were freed";
        }
        + (one ? "; allocated " : "; the first was allocated ")
        + ReportText.origin(age, site);
  }
}
