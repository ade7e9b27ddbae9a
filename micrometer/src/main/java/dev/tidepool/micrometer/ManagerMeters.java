package dev.tidepool.micrometer;

import dev.tidepool.transfer.TransferStatistics;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/** The meters of one manager, whose names begin with {@code tidepool.}. */
final class ManagerMeters {
  /** The number and duration of transfers in one direction. */
  private record Timing(
      String direction,
      ToLongFunction<TransferStatistics> count,
      Function<TransferStatistics, Duration> time) {}

  private static final List<Timing> TIMINGS =
      List.of(
          new Timing(
              "to_device",
              TransferStatistics::hostToDeviceTransfers,
              TransferStatistics::hostToDeviceTime),
          new Timing(
              "to_host",
              TransferStatistics::deviceToHostTransfers,
              TransferStatistics::deviceToHostTime),
          new Timing(
              "on_device",
              TransferStatistics::deviceToDeviceTransfers,
              TransferStatistics::deviceToDeviceTime));

  private final String name;
  private final HardwareTags hardware;
  private final Sampler sampler;
  private final RegisteredMeters registered = new RegisteredMeters();

  ManagerMeters(String name, HardwareTags hardware, Sampler sampler) {
    this.name = name;
    this.hardware = hardware;
    this.sampler = sampler;
  }

  String name() {
    return name;
  }

  HardwareTags hardware() {
    return hardware;
  }

  Sampler sampler() {
    return sampler;
  }

  void register(MeterRegistry registry) {
    Tags tags = hardware.tags().and("tidepool.manager", name);
    for (Figure figure : Figure.ALL) {
      registered.add(
          registry,
          figure.cumulative()
              ? FunctionCounter.builder(
                      figure.name(), figure, each -> each.value().applyAsLong(sampler.last()))
                  .tags(tags.and(figure.tags()))
                  .baseUnit(figure.unit())
                  .description(figure.description())
                  .register(registry)
              : Gauge.builder(
                      figure.name(), figure, each -> each.value().applyAsLong(sampler.last()))
                  .tags(tags.and(figure.tags()))
                  .baseUnit(figure.unit())
                  .description(figure.description())
                  .register(registry));
    }
    for (Timing timing : TIMINGS) {
      registered.add(
          registry,
          FunctionTimer.builder(
                  "tidepool.transfers",
                  timing,
                  each -> each.count().applyAsLong(sampler.last().transfers()),
                  each -> each.time().apply(sampler.last().transfers()).toNanos(),
                  TimeUnit.NANOSECONDS)
              .tags(tags.and("direction", timing.direction()))
              .description("Transfers between host and device")
              .register(registry));
    }
  }

  void unregister() {
    registered.removeAll();
  }
}
