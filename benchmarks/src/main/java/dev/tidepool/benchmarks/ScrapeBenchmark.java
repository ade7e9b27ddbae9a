package dev.tidepool.benchmarks;

import dev.tidepool.ElementType;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.micrometer.TidepoolMetrics;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Measurement;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Reads every meter of a manager with many live buffers, and creates the text for Prometheus. Time
 * passes before each scrape, as in production, so that caches contain other data.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 20, batchSize = 2000)
@org.openjdk.jmh.annotations.Measurement(iterations = 100)
@Fork(1)
public class ScrapeBenchmark {
  private static final int BUFFERS = 10_000;

  private final MeterRegistry meters = new SimpleMeterRegistry();
  private final PrometheusMeterRegistry prometheus =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final PrometheusMeterRegistry constants =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final List<UnifiedBuffer<byte[]>> buffers = new ArrayList<>();
  private Tidepool tidepool;

  /** Allocates the buffers. */
  @Setup
  public void open() {
    tidepool = Tidepool.open(MemoryOptions.defaults());
    UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
    for (int i = 0; i < BUFFERS; i++) {
      buffers.add(memory.allocate(ElementType.BYTE, 1024));
    }
    TidepoolMetrics metrics = new TidepoolMetrics();
    metrics.add(memory);
    metrics.bindTo(meters);
    metrics.bindTo(prometheus);
    for (Meter meter : meters.getMeters()) {
      Meter.Id id = meter.getId();
      Gauge.builder(id.getName(), () -> 1).tags(id.getTags()).register(constants);
    }
  }

  /** Waits between scrapes. */
  @Setup(Level.Iteration)
  public void pause() throws InterruptedException {
    Thread.sleep(110);
  }

  /** Frees the buffers. */
  @TearDown
  public void close() {
    buffers.forEach(UnifiedBuffer::close);
    tidepool.close();
  }

  /** Reads every value of every meter. */
  @Benchmark
  public double values() {
    double sum = 0;
    for (Meter meter : meters.getMeters()) {
      for (Measurement measurement : meter.measure()) {
        sum += measurement.getValue();
      }
    }
    return sum;
  }

  /** Returns the text for Prometheus. */
  @Benchmark
  public String text() {
    return prometheus.scrape();
  }

  /** Returns the text of as many gauges with the same names, whose values cost nothing. */
  @Benchmark
  public String textOfConstants() {
    return constants.scrape();
  }
}
