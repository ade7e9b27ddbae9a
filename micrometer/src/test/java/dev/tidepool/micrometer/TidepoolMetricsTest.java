package dev.tidepool.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.tidepool.Allocation;
import dev.tidepool.ElementType;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.SpiCall;
import dev.tidepool.testkit.fault.Failure;
import dev.tidepool.testkit.fault.FaultInjector;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import io.micrometer.core.instrument.Measurement;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("Meters of memory managers")
class TidepoolMetricsTest {
  private final TidepoolMetrics metrics = new TidepoolMetrics();
  private final MeterRegistry registry = new SimpleMeterRegistry();

  private void later() {
    metrics.sample();
  }

  private double gauge(String name, String... tags) {
    return registry.get(name).tags(tags).gauge().value();
  }

  private double counter(String name, String... tags) {
    return registry.get(name).tags(tags).functionCounter().count();
  }

  private static Tidepool simulated() {
    return Discovery.using(
        List.of(new SimulatedProvider(SimulatedHardware.discrete())), Tidepool::open);
  }

  private static UnifiedMemoryManager cpu() {
    return Discovery.using(List.of(), () -> UnifiedMemoryManager.create());
  }

  @Test
  @DisplayName("say what the manager's statistics say")
  void figures() {
    metrics.bindTo(registry);
    try (UnifiedMemoryManager memory = cpu()) {
      metrics.add(memory);
      try (var buffer = memory.allocate(ElementType.BYTE, 10_000)) {
        assertThat(buffer.length()).isEqualTo(10_000);
        later();
        assertThat(gauge("tidepool.memory.live", "hw.id", "cpu:0", "hw.type", "cpu"))
            .isEqualTo(10_000);
        assertThat(gauge("tidepool.buffers.live")).isEqualTo(1);
      }
      memory.allocate(ElementType.BYTE, 10_000).close();
      later();
      assertThat(gauge("tidepool.buffers.live")).isZero();
      assertThat(counter("tidepool.buffers.allocated")).isEqualTo(2);
      assertThat(counter("tidepool.pool.hits"))
          .isEqualTo(memory.statistics().poolHits())
          .isPositive();
      assertThat(registry.get("tidepool.memory.live").meter().getId().getBaseUnit())
          .isEqualTo("bytes");
    }
  }

  @Test
  @DisplayName("of a device have OpenTelemetry's names")
  void openTelemetry() {
    metrics.bindTo(registry);
    try (Tidepool tidepool = simulated()) {
      UnifiedMemoryManager memory = tidepool.memory();
      String id = memory.accelerator().id();
      metrics.add(memory);
      try (UnifiedBuffer<float[]> buffer =
          memory.allocate(ElementType.FLOAT, 1024, Allocation.at(MemoryLocation.DEVICE))) {
        buffer.copyFrom(new float[1024]);
        buffer.copyTo(new float[1024]);
        later();
        long total = memory.accelerator().memory().totalBytes();
        assertThat(gauge("hw.gpu.memory.limit", "hw.id", id)).isEqualTo(total);
        assertThat(gauge("hw.gpu.memory.usage")).isBetween(4096.0, (double) total);
        assertThat(gauge("hw.gpu.memory.utilization"))
            .isEqualTo(gauge("hw.gpu.memory.usage") / total);
        assertThat(counter("hw.gpu.io", "network.io.direction", "receive")).isEqualTo(4096);
        assertThat(counter("hw.gpu.io", "network.io.direction", "transmit")).isEqualTo(4096);
        assertThat(counter("tidepool.transfer.io", "direction", "to_device")).isEqualTo(4096);
        assertThat(registry.get("tidepool.transfers").tag("direction", "to_host").functionTimer())
            .satisfies(timer -> assertThat(timer.count()).isEqualTo(1));
      }
    }
  }

  @Test
  @DisplayName("of the processor have no names of a GPU")
  void cpuIsNoGpu() {
    metrics.bindTo(registry);
    try (UnifiedMemoryManager memory = cpu()) {
      metrics.add(memory);
      assertThat(registry.find("hw.gpu.memory.limit").meter()).isNull();
    }
  }

  @Test
  @DisplayName("appear with a manager and vanish when it was closed")
  void comeAndGo() {
    CompositeMeterRegistry composite = new CompositeMeterRegistry();
    composite.add(registry);
    metrics.bindTo(composite);
    try (Tidepool tidepool = simulated()) {
      for (int i = 0; i < 3; i++) {
        try (UnifiedMemoryManager own =
            UnifiedMemoryManager.create(
                tidepool.accelerators().getFirst(), MemoryOptions.defaults())) {
          metrics.add(own);
          metrics.add(own);
          assertThat(registry.find("tidepool.buffers.live").gauges()).hasSize(1);
          assertThat(registry.find("hw.gpu.memory.limit").gauges()).hasSize(1);
        }
        later();
        readAll();
        assertThat(registry.getMeters()).isEmpty();
      }
    }
  }

  @Test
  @DisplayName("of closed managers vanish with the next manager, though nobody reads them")
  void nobodyReads() {
    metrics.bindTo(registry);
    UnifiedMemoryManager closed = cpu();
    metrics.add(closed);
    closed.close();
    try (UnifiedMemoryManager memory = cpu()) {
      metrics.add(memory);
      assertThat(registry.find("tidepool.buffers.live").gauges()).hasSize(1);
      assertThat(registry.get("tidepool.buffers.live").tag("tidepool.manager", "cpu:0").gauge())
          .isNotNull();
    }
  }

  @Test
  @DisplayName("of a manager that is added while those of a closed one vanish are all there")
  void addedMeanwhile() {
    metrics.bindTo(registry);
    try (UnifiedMemoryManager closed = cpu();
        UnifiedMemoryManager other = cpu()) {
      metrics.add(closed);
      List<Meter.Id> ids = registry.getMeters().stream().map(Meter::getId).toList();
      registry.config().onMeterRemoved(_ -> metrics.add(other));
      closed.close();
      later();
      assertThat(registry.getMeters()).extracting(Meter::getId).containsAll(ids);
      assertThat(registry.find("tidepool.buffers.live").gauges()).hasSize(1);
    }
  }

  @Test
  @DisplayName("vanish when their source is closed, and may come back")
  void closed() {
    metrics.bindTo(registry);
    try (Tidepool tidepool = simulated()) {
      metrics.add(tidepool.memory());
      assertThat(registry.getMeters()).isNotEmpty();
      metrics.close();
      assertThat(registry.getMeters()).isEmpty();
      metrics.add(tidepool.memory());
      assertThat(registry.getMeters()).isEmpty();
      metrics.bindTo(registry);
      assertThat(registry.get("hw.gpu.memory.limit").meters()).hasSize(1);
    }
  }

  @Test
  @DisplayName("of a closed manager vanish though a listener of the registry fails")
  void failingListener() {
    metrics.bindTo(registry);
    registry
        .config()
        .onMeterRemoved(
            _ -> {
              throw new IllegalStateException("the listener's own");
            });
    try (UnifiedMemoryManager memory = cpu()) {
      metrics.add(memory);
    }
    later();
    assertThat(registry.getMeters()).isEmpty();
  }

  @Test
  @DisplayName("follow their manager without being asked, and vanish so too")
  void regularly() {
    metrics.bindTo(registry);
    try (UnifiedMemoryManager memory = cpu()) {
      metrics.add(memory);
      try (var buffer = memory.allocate(ElementType.BYTE, 100)) {
        assertThat(buffer.length()).isEqualTo(100);
        await().untilAsserted(() -> assertThat(gauge("tidepool.memory.live")).isEqualTo(100));
      }
    }
    await().untilAsserted(() -> assertThat(registry.getMeters()).isEmpty());
    try (UnifiedMemoryManager memory = cpu()) {
      metrics.add(memory);
    }
    await().untilAsserted(() -> assertThat(registry.getMeters()).isEmpty());
  }

  @Test
  @DisplayName("of two managers of one device differ by name, and the device counts both")
  void twoManagers() {
    try (Tidepool tidepool = simulated()) {
      UnifiedMemoryManager first = tidepool.memory();
      String id = first.accelerator().id();
      metrics.add(first);
      try (UnifiedMemoryManager second =
          UnifiedMemoryManager.create(first.accelerator(), MemoryOptions.defaults())) {
        metrics.add(second);
        metrics.bindTo(registry);
        move(first);
        move(second);
        later();
        assertThat(counter("hw.gpu.io", "network.io.direction", "receive")).isEqualTo(8192);
        assertThat(
                counter(
                    "tidepool.transfer.io",
                    "tidepool.manager",
                    id + "#2",
                    "direction",
                    "to_device"))
            .isEqualTo(4096);
      }
      later();
      readAll();
      assertThat(counter("hw.gpu.io", "network.io.direction", "receive")).isEqualTo(8192);
      assertThat(registry.find("tidepool.buffers.live").gauges()).hasSize(1);
    }
  }

  private static void move(UnifiedMemoryManager memory) {
    try (UnifiedBuffer<float[]> buffer =
        memory.allocate(ElementType.FLOAT, 1024, Allocation.at(MemoryLocation.DEVICE))) {
      buffer.copyFrom(new float[1024]);
    }
  }

  @Test
  @DisplayName("never throw: not when the manager is closed, not when the device is lost")
  void neverThrow() {
    FaultInjector faults = new FaultInjector(new SimulatedProvider(SimulatedHardware.discrete()));
    try (Tidepool tidepool = Discovery.using(List.of(faults), Tidepool::open)) {
      UnifiedMemoryManager memory = tidepool.memory();
      metrics.bindTo(registry);
      metrics.add(memory);
      move(memory);
      later();
      readAll();
      Meter live = registry.get("tidepool.buffers.live").meter();
      Meter allocated = registry.get("tidepool.buffers.allocated").meter();
      faults.fail(SpiCall.WRITE, 1, Failure.DEVICE_LOST);
      assertThatThrownBy(() -> move(memory)).isInstanceOf(RuntimeException.class);
      later();
      readAll();
      assertThat(registry.find("tidepool.buffers.live").meter()).isNotNull();
      tidepool.close();
      later();
      assertThat(value(live)).isZero();
      assertThat(value(allocated)).isEqualTo(2);
    }
    readAll();
    assertThat(registry.getMeters()).isEmpty();
  }

  private static double value(Meter meter) {
    return meter.measure().iterator().next().getValue();
  }

  private void readAll() {
    for (Meter meter : registry.getMeters()) {
      for (Measurement measurement : meter.measure()) {
        assertThat(measurement.getValue())
            .satisfiesAnyOf(
                value -> assertThat(value).isNotNegative(), value -> assertThat(value).isNaN());
      }
    }
  }

  @Test
  @DisplayName("need names that are not taken")
  void names() {
    try (UnifiedMemoryManager one = cpu();
        UnifiedMemoryManager other = cpu()) {
      metrics.add("embeddings", one);
      assertThatThrownBy(() -> metrics.add("embeddings", other))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("embeddings");
      metrics.remove(one);
      metrics.add("embeddings", other);
      metrics.bindTo(registry);
      assertThat(
              registry.find("tidepool.buffers.live").tag("tidepool.manager", "embeddings").gauges())
          .hasSize(1);
      one.close();
      assertThatThrownBy(() -> metrics.add(one)).isInstanceOf(IllegalStateException.class);
    }
  }

  @Test
  @DisplayName("are Prometheus text, also while managers come and go")
  void prometheus() throws Exception {
    PrometheusMeterRegistry prometheus = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    TidepoolMetrics live = new TidepoolMetrics();
    live.bindTo(prometheus);
    try (Tidepool tidepool = simulated();
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      live.add(tidepool.memory());
      assertThat(prometheus.scrape())
          .contains("hw_gpu_memory_limit_bytes{hw_id=")
          .contains("tidepool_pool_hits_allocations_total{")
          .contains("tidepool_buffers_live_buffers{")
          .contains("tidepool_transfers_seconds_count{");
      Future<?> scraping =
          threads.submit(
              () -> {
                for (int i = 0; i < 100; i++) {
                  prometheus.scrape();
                }
              });
      while (!scraping.isDone()) {
        try (UnifiedMemoryManager own =
            UnifiedMemoryManager.create(
                tidepool.accelerators().getFirst(), MemoryOptions.defaults())) {
          live.add(own);
        }
      }
      scraping.get();
    }
  }
}
