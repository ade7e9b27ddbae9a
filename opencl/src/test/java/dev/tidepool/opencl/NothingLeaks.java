package dev.tidepool.opencl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Fails a test that leaves an object of OpenCL behind, of whatever kind. */
final class NothingLeaks implements BeforeEachCallback, AfterEachCallback {

  @Override
  public void beforeEach(ExtensionContext context) {
    check();
  }

  @Override
  public void afterEach(ExtensionContext context) {
    // A thread that waited for another context's event lets go of it after the command's end.
    await().until(() -> LiveObjects.count(LiveObjects.Kind.EVENT) == 0);
    check();
  }

  private static void check() {
    for (LiveObjects.Kind kind : LiveObjects.Kind.values()) {
      assertThat(LiveObjects.count(kind)).as("live objects of kind %s", kind).isZero();
    }
  }
}
