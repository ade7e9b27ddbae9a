package dev.tidepool.diagnostics;

import dev.tidepool.MemoryLocation;
import java.time.Duration;

/**
 * Buffers that were not closed. Those with the same tag, type, location and site that are found at
 * the same time are one report, so that ten thousand leaks of one place are reported once.
 *
 * @param cause how they were found
 * @param accelerator the accelerator of their manager
 * @param tag their owner; empty if none was named
 * @param elementType what their elements are, by name
 * @param location where they were allocated
 * @param buffers how many they are
 * @param bytes their bytes together
 * @param age the time since the oldest of them was allocated
 * @param site the stack that allocated them, a line for each frame; empty if that was not recorded
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

  /** How a leak is found. */
  public enum Cause {
    /** No handle was left; the buffers were reclaimed. */
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
