package dev.tidepool.diagnostics;

import dev.tidepool.MemoryOptions;

/**
 * A finding of the diagnostics, for {@link MemoryOptions#reportListener()}. Its text is one
 * sentence, followed by the frames of the site, a line each.
 */
public sealed interface DiagnosticReport
    permits LeakReport,
        GuardReport,
        LostResultReport,
        UnclosedAccessReport,
        UnclosedReport,
        UnclosedReservationReport {
  /** Returns the accelerator of the manager, such as {@code cpu:0}. */
  String accelerator();

  /** Returns the tag of the bytes; empty if there is none. */
  String tag();

  /** Returns the stack of the allocation, a line for each frame; empty if it was not recorded. */
  String site();
}
