package dev.tidepool.micrometer;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Meters that are removed together. Safe for use by any thread. */
final class RegisteredMeters {
  private record Registered(MeterRegistry registry, Meter meter) {}

  private static final Logger LOG = System.getLogger("dev.tidepool");

  // Guarded by this.
  private final List<Registered> meters = new ArrayList<>();

  synchronized void add(MeterRegistry registry, Meter meter) {
    meters.add(new Registered(registry, meter));
  }

  /**
   * Removes all meters. Calls registries without this object's monitor, because they call
   * listeners. A listener may call this method, which then removes the remaining meters.
   */
  void removeAll() {
    for (Registered each = poll(); each != null; each = poll()) {
      try {
        each.registry().remove(each.meter());
      } catch (RuntimeException e) {
        LOG.log(Level.WARNING, "a listener of a meter registry failed", e);
      }
    }
  }

  private synchronized @Nullable Registered poll() {
    return meters.isEmpty() ? null : meters.removeLast();
  }
}
