package dev.tidepool.diagnostics;

import dev.tidepool.MemoryOptions;

/**
 * A finding of the diagnostics, for {@link MemoryOptions#reportListener()}. Its text is one
 * sentence for people, followed by the frames of the site, a line each.
 */
public sealed interface DiagnosticReport
    permits LeakReport,
        GuardReport,
        LostResultReport,
        UnclosedAccessReport,
        UnclosedReport,
        UnclosedReservationReport {
  /** Returns the accelerator whose manager found it, such as {@code cpu:0}. */
  String accelerator();

  /** Returns the name of the owner of the bytes; empty if none was given. */
  String tag();

  /**
   * Returns the stack that allocated them, a line for each frame; empty if that was not recorded.
   */
  String site();
}
