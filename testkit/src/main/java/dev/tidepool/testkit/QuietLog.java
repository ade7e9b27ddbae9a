package dev.tidepool.testkit;

import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Suppresses the library's warnings in tests that make the library fail thousands of times. */
final class QuietLog implements BeforeAllCallback, AfterAllCallback {
  private static final Logger LIBRARY = Logger.getLogger("dev.tidepool");
  private static final Logger SEEDS = Logger.getLogger(RandomWorkload.class.getName());
  private static final Logger KERNELS = Logger.getLogger(RandomKernels.class.getName());

  @Override
  public void beforeAll(ExtensionContext context) {
    LIBRARY.setLevel(Level.OFF);
    SEEDS.setLevel(Level.INFO);
    KERNELS.setLevel(Level.INFO);
  }

  @Override
  public void afterAll(ExtensionContext context) {
    LIBRARY.setLevel(null);
    SEEDS.setLevel(null);
    KERNELS.setLevel(null);
  }
}
