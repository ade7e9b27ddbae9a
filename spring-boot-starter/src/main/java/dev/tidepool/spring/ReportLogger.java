package dev.tidepool.spring;

import dev.tidepool.diagnostics.DiagnosticReport;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.logging.LogManager;
import java.util.logging.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the library's reports to SLF4J.
 *
 * <p>The library logs them by {@code System.Logger}, which ends in {@code java.util.logging}.
 * Spring Boot bridges that to SLF4J, but removes the bridge before it destroys beans. The most
 * important reports, of buffers that were open, would be lost. While there is a bridge this is
 * silent, so that no report is told twice.
 */
final class ReportLogger implements Consumer<DiagnosticReport> {
  private static final org.slf4j.Logger LOG = LoggerFactory.getLogger("dev.tidepool");

  @Override
  public void accept(DiagnosticReport report) {
    if (!isBridged()) {
      LOG.warn("{}", report);
    }
  }

  private static boolean isBridged() {
    Logger root = LogManager.getLogManager().getLogger("");
    return root != null
        && Arrays.stream(root.getHandlers())
            .anyMatch(handler -> handler.getClass().getSimpleName().endsWith("BridgeHandler"));
  }
}
