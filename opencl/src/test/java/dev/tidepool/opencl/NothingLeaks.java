package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Fails a test that leaves an object of OpenCL behind, of whatever kind. */
final class NothingLeaks implements BeforeEachCallback, AfterEachCallback {

  private final Map<ObjectKind, Long> before = new EnumMap<>(ObjectKind.class);

  @Override
  public void beforeEach(ExtensionContext context) {
    for (ObjectKind kind : ObjectKind.values()) {
      before.put(kind, ObjectKind.LIVE.count(kind));
    }
  }

  @Override
  public void afterEach(ExtensionContext context) {
    if (context.getExecutionException().isPresent()) {
      return;
    }
    // A thread that waited for another context's event lets go of it after the command's end.
    await()
        .untilAsserted(
            () -> {
              for (ObjectKind kind : ObjectKind.values()) {
                assertThat(ObjectKind.LIVE.count(kind))
                    .as("live objects of kind %s", kind)
                    .isEqualTo(before.get(kind));
              }
            });
  }
}
