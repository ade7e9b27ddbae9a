package dev.tidepool.micrometer;

import dev.tidepool.MemoryInfo;
import dev.tidepool.transfer.TransferStatistics;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The meters of one device, with OpenTelemetry's names, registered while one of its managers is
 * open. Safe for use by any thread.
 */
final class DeviceMeters {
  /** A direction of {@code hw.gpu.io}, as the device sees it. */
  private record Io(String direction, ToLongFunction<TransferStatistics> bytes) {}

  private static final Io RECEIVED = new Io("receive", TransferStatistics::hostToDeviceBytes);
  private static final Io SENT = new Io("transmit", TransferStatistics::deviceToHostBytes);

  private final HardwareTags hardware;
  private final List<Sampler> samplers = new CopyOnWriteArrayList<>();
  private final RegisteredMeters registered = new RegisteredMeters();

  // Both guarded by this.
  private long received;
  private long sent;

  private volatile @Nullable MemoryInfo memory;

  DeviceMeters(HardwareTags hardware) {
    this.hardware = hardware;
  }

  void add(Sampler sampler) {
    samplers.add(sampler);
  }

  /** Reads the device's memory figures; never throws. */
  void refresh() {
    memory =
        samplers.stream()
            .map(Sampler::deviceMemory)
            .filter(Objects::nonNull)
            .findFirst()
            .orElse(null);
  }

  /**
   * Adds the transferred bytes of a closed manager to those of the device.
   *
   * @return whether no manager is left
   */
  synchronized boolean retire(Sampler sampler) {
    if (samplers.remove(sampler)) {
      received += RECEIVED.bytes().applyAsLong(sampler.last().transfers());
      sent += SENT.bytes().applyAsLong(sampler.last().transfers());
    }
    return samplers.isEmpty();
  }

  void register(MeterRegistry registry) {
    gauge(registry, "limit", BaseUnits.BYTES, "Memory of the device", MemoryInfo::totalBytes);
    gauge(
        registry,
        "usage",
        BaseUnits.BYTES,
        "What of it is in use, by all processes",
        DeviceMeters::used);
    gauge(
        registry,
        "utilization",
        null,
        "The part of it that is in use",
        info -> used(info) / (double) info.totalBytes());
    counter(registry, RECEIVED);
    counter(registry, SENT);
  }

  private static long used(MemoryInfo info) {
    return info.totalBytes() - info.freeBytes();
  }

  private void gauge(
      MeterRegistry registry,
      String name,
      @Nullable String unit,
      String description,
      ToDoubleFunction<MemoryInfo> value) {
    registered.add(
        registry,
        Gauge.builder("hw.gpu.memory." + name, () -> of(memory, value))
            .tags(hardware.tags())
            .baseUnit(unit)
            .description(description)
            .strongReference(true)
            .register(registry));
  }

  private static double of(@Nullable MemoryInfo info, ToDoubleFunction<MemoryInfo> value) {
    return info == null ? Double.NaN : value.applyAsDouble(info);
  }

  private void counter(MeterRegistry registry, Io io) {
    Tags tags = hardware.tags().and("network.io.direction", io.direction());
    registered.add(
        registry,
        // The state object is a constant, because meters refer to it weakly.
        FunctionCounter.builder("hw.gpu.io", io, this::moved)
            .tags(tags)
            .baseUnit(BaseUnits.BYTES)
            .description("Bytes that the device received and sent")
            .register(registry));
  }

  private synchronized double moved(Io io) {
    long sum = io.equals(RECEIVED) ? received : sent;
    for (Sampler sampler : samplers) {
      sum += io.bytes().applyAsLong(sampler.last().transfers());
    }
    return sum;
  }

  void unregister() {
    registered.removeAll();
  }
}
