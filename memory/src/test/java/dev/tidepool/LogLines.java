package dev.tidepool;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The lines that the library logs during a test, which go nowhere else. */
public final class LogLines implements BeforeEachCallback, AfterEachCallback {
  // Kept: the system forgets the handlers of a logger that nothing refers to.
  private final Logger logger = Logger.getLogger("dev.tidepool");
  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord record) {
          lines.add(record.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  /** The lines so far. */
  public List<String> all() {
    return lines;
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    logger.addHandler(handler);
    logger.setUseParentHandlers(false);
  }

  @Override
  public void afterEach(ExtensionContext context) {
    logger.removeHandler(handler);
    logger.setUseParentHandlers(true);
  }
}
