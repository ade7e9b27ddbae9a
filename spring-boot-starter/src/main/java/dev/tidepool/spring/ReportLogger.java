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
 * <p>The library logs reports to {@code System.Logger}, whose default is {@code java.util.logging}.
 * Spring Boot bridges {@code java.util.logging} to SLF4J, but removes the bridge before it destroys
 * beans. The most important reports, about buffers that were not closed, would be lost. While the
 * bridge exists, this class logs nothing, so that no report appears twice.
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
