package dev.tidepool.runtime;

import dev.tidepool.DiagnosticReport;
import java.lang.System.Logger.Level;
import java.util.Optional;
import java.util.function.Consumer;

/** Where findings of one manager go: to the log, and to the listener of its options. */
final class Reports {
  private static final System.Logger LOG = System.getLogger("dev.tidepool");

  private final Optional<Consumer<DiagnosticReport>> listener;

  Reports(Optional<Consumer<DiagnosticReport>> listener) {
    this.listener = listener;
  }

  void log(Level level, String line) {
    LOG.log(level, line);
  }

  /** Tells the listener. */
  void tell(DiagnosticReport report) {
    try {
      listener.ifPresent(present -> present.accept(report));
    } catch (RuntimeException | Error e) {
      LOG.log(Level.WARNING, "the report listener failed on: " + report, e);
    }
  }
}
