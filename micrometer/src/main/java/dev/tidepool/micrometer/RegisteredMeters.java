package dev.tidepool.micrometer;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.List;

/** Meters that are removed together. Safe for use by any thread. */
final class RegisteredMeters {
  private record Registered(MeterRegistry registry, Meter meter) {}

  // Guarded by this.
  private final List<Registered> meters = new ArrayList<>();

  synchronized void add(MeterRegistry registry, Meter meter) {
    meters.add(new Registered(registry, meter));
  }

  /** Registries are asked without a lock: they tell listeners. */
  void removeAll() {
    List<Registered> all;
    synchronized (this) {
      all = List.copyOf(meters);
      meters.clear();
    }
    all.forEach(each -> each.registry().remove(each.meter()));
  }
}
