package dev.tidepool.cuda;

import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Fails a test that leaves an object of the driver behind, or does what a driver punishes. */
final class NothingLeaks implements BeforeEachCallback, AfterEachCallback {
  private final Map<ObjectKind, Long> before = new EnumMap<>(ObjectKind.class);

  @Override
  public void beforeEach(ExtensionContext context) {
    before.putAll(Simulation.liveObjects());
  }

  @Override
  public void afterEach(ExtensionContext context) {
    if (context.getExecutionException().isEmpty()) {
      // Where pinned memory is made to run out, plain memory takes its place.
      Simulation.assertCleanBut(before, !context.getTags().contains("pageable"));
    }
  }
}
