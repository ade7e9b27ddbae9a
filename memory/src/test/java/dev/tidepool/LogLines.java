package dev.tidepool;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The lines that the library logs during a test, which go nowhere else. */
public final class LogLines implements BeforeEachCallback, AfterEachCallback {
  // Kept: the system forgets the handlers of a logger that nothing refers to.
  private final Logger logger = Logger.getLogger("dev.tidepool");
  private final List<LogRecord> records = new CopyOnWriteArrayList<>();
  private final Handler handler =
      new Handler() {
        @Override
        public void publish(LogRecord record) {
          records.add(record);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
      };

  /** The lines so far. Some have places for values, as {@code {0}}. */
  public List<String> all() {
    return records.stream().map(LogRecord::getMessage).toList();
  }

  /** The lines so far, with their values. */
  public List<String> withValues() {
    return records.stream().map(new SimpleFormatter()::formatMessage).toList();
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
