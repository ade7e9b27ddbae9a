package dev.tidepool.metal;

import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Fails a test that leaves an object of Metal behind, or does what Metal punishes. */
final class NothingLeaks implements BeforeEachCallback, AfterEachCallback {
  private final Map<ObjectKind, Long> before = new EnumMap<>(ObjectKind.class);

  @Override
  public void beforeEach(ExtensionContext context) {
    before.putAll(Simulation.liveObjects());
  }

  @Override
  public void afterEach(ExtensionContext context) {
    if (context.getExecutionException().isEmpty()) {
      Simulation.assertCleanBut(before);
    }
  }
}
