package dev.tidepool.examples.dotcompute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ElementType;
import dev.tidepool.HostMapping;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.StructOfArrays;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.LayoutReport;
import dev.tidepool.spi.Discovery;
import dev.tidepool.testkit.simulated.SimulatedHardware;
import dev.tidepool.testkit.simulated.SimulatedProvider;
import dev.tidepool.transfer.PeerAccess;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The examples of DotCompute's architecture and optimization pages, each as short in Java. */
@DisplayName("DotCompute's architecture and optimization pages")
class ArchitectureExamplesTest {
  private static final int SIZE = 10_000;

  private final Tidepool tidepool = Tidepool.open();
  private final UnifiedMemoryManager memory = tidepool.memory();
  private final float[] data = new float[SIZE];

  @AfterEach
  void close() {
    assertThat(memory.buffers()).isEmpty();
    tidepool.close();
  }

  @Test
  void aBufferFromAnArray() {
    try (UnifiedBuffer<float[]> buffer = memory.copyOf(data)) {
      assertThat(buffer.length()).isEqualTo(SIZE);
      assertThat(buffer.byteSize()).isEqualTo(4L * SIZE);
      assertThat(buffer.accelerator().id()).isEqualTo(memory.accelerator().id());
      assertThat(buffer.state()).isNotNull();
    }
  }

  @Test
  void mappingInTheBackground() {
    try (var buffer = memory.copyOf(data);
        HostMapping mapping = buffer.mapAsync(MapMode.READ_WRITE).join()) {
      mapping.segment().set(ValueLayout.JAVA_FLOAT, 0, 1);
      assertThat(mapping.segment().byteSize()).isEqualTo(buffer.byteSize());
    }
  }

  @Test
  void aBlockOfThePoolIsReused() {
    memory.allocate(ElementType.FLOAT, 1_000).close();
    long misses = memory.statistics().poolMisses();
    memory.allocate(ElementType.FLOAT, 1_000).close();
    assertThat(memory.statistics().poolMisses()).isEqualTo(misses);
  }

  @Test
  void peerToPeer() {
    SimulatedHardware card = SimulatedHardware.discrete();
    try (Tidepool cards =
        Discovery.using(List.of(new SimulatedProvider(card, card)), Tidepool::open)) {
      var first = cards.accelerator("simulated:0");
      var second = cards.accelerator("simulated:1");
      PeerAccess peers = cards.peers();
      peers.enable(first, second);
      assertThat(peers.way(first, second).isEnabled()).isTrue();
      try (var source = cards.memory(first).copyOf(data);
          var destination = cards.memory(second).allocate(ElementType.FLOAT, SIZE)) {
        destination.copyFrom(source);
      }
      assertThat(cards.memory(second).transfers().statistics().deviceToDeviceBytes())
          .isEqualTo(4L * SIZE);
    }
  }

  @Test
  void memoryStatistics() {
    MemoryStatistics stats = memory.statistics();
    String line =
        "Memory: %d buffers, %,d bytes allocated, %,d bytes pooled, %.1f%% pool hit rate"
            .formatted(
                stats.activeBuffers(),
                stats.totalAllocated(),
                stats.totalPooled(),
                100 * stats.hitRate());
    assertThat(line).startsWith("Memory: 0 buffers");
  }

  @Test
  void transfersSideBySide() {
    List<float[]> arrays = List.of(new float[100], new float[200], new float[300]);
    List<CompletableFuture<UnifiedBuffer<float[]>>> tasks = new ArrayList<>();
    arrays.forEach(array -> tasks.add(memory.copyOfAsync(array)));
    assertThat(tasks).allSatisfy(task -> task.join().close());
  }

  @Test
  void managerOptions() {
    MemoryOptions options =
        MemoryOptions.builder()
            .pooling(true)
            .maxPoolBytesPerClass(2L << 30)
            .concurrentTransfers(8)
            .pinnedMemory(true)
            .peerAccess(true)
            .trimOnPressure(true)
            .build();
    try (Tidepool configured = Tidepool.open(options)) {
      assertThat(configured.memory().statistics().activeBuffers()).isZero();
    }
  }

  @Test
  void unifiedMemoryWithHints() {
    assumeTrue(memory.accelerator().capabilities().contains(Capability.UNIFIED_MEMORY));
    try (var buffer =
            memory.allocate(
                ElementType.FLOAT, SIZE, Allocation.at(MemoryLocation.UNIFIED).mostlyDevice());
        Kernel kernel = memory.compile(KernelSource.elementwise("x = 1 + 0*x"))) {
      buffer.fill((byte) 0);
      buffer.prefetchToDevice();
      kernel.execute(Arguments.of("x", buffer));
      buffer.prefetchToHost();
      assertThat(buffer.asReadOnlySegment().get(ValueLayout.JAVA_FLOAT, 0)).isEqualTo(1);
    }
  }

  @Test
  void unifiedMemoryThatTheHostUsesToo() {
    assumeTrue(memory.accelerator().capabilities().contains(Capability.UNIFIED_MEMORY));
    Allocation unified = Allocation.at(MemoryLocation.UNIFIED);
    try (var state = memory.copyOf(new float[] {1, 2}, unified.mostlyHost());
        var queue = memory.copyOf(new float[] {3, 4}, unified.mostlyShared());
        Kernel kernel = memory.compile(KernelSource.elementwise("queue = queue + 10*state"))) {
      kernel.execute(Arguments.of("state", state, "queue", queue));
      assertThat(queue.asReadOnlySegment().toArray(ValueLayout.JAVA_FLOAT)).containsExactly(13, 24);
    }
  }

  @Test
  void overlapOfTransfersAndKernels() {
    try (var current = memory.copyOf(data);
        var next = memory.allocate(ElementType.FLOAT, SIZE);
        Kernel kernel = memory.compile(KernelSource.elementwise("x = x + 1"))) {
      CompletableFuture<Void> transfer = next.copyFromAsync(data);
      kernel.execute(Arguments.of("x", current));
      transfer.join();
      assertThat(transfer).isCompleted();
    }
  }

  /** A particle. */
  public record Particle(float x, float y, float z, float velX, float velY, float velZ) {}

  @Test
  void structuresOfArrays() {
    Particle[] particles = new Particle[100];
    java.util.Arrays.fill(particles, new Particle(0, 0, 0, 1, 2, 3));
    try (StructOfArrays<Particle> soa = memory.allocateStructOfArrays(Particle.class, 100);
        Kernel update =
            memory.compile(
                KernelSource.elementwise("x = x + velX*dt; y = y + velY*dt; z = z + velZ*dt"))) {
      soa.copyFrom(particles);
      Arguments arguments = Arguments.of("dt", 0.5f);
      for (String name : soa.names()) {
        arguments = arguments.with(name, soa.component(name, ElementType.FLOAT));
      }
      update.execute(arguments);
      soa.copyTo(particles);
      assertThat(particles[99]).isEqualTo(new Particle(0.5f, 1, 1.5f, 1, 2, 3));
    }
  }

  /** Padding between the flag and the result. */
  public record BadLayout(float value, byte flag, double result) {}

  @Test
  void paddingForAlignment() {
    LayoutReport report = LayoutReport.of(BadLayout.class);
    assertThat(report.byteSize()).isEqualTo(16);
    assertThat(report.paddingBytes()).isEqualTo(3);
  }

  @Test
  void monitoringMemoryUsage() {
    MemoryInfo info = memory.accelerator().memory();
    long used = info.totalBytes() - info.freeBytes();
    String line =
        "GPU memory: %d / %d MB (%.1f%%)"
            .formatted(used >> 20, info.totalBytes() >> 20, used * 100.0 / info.totalBytes());
    assertThat(line).startsWith("GPU memory: ");
  }

  @Test
  void leakDetection() {
    List<String> reports = new java.util.concurrent.CopyOnWriteArrayList<>();
    MemoryOptions options =
        MemoryOptions.builder().reportListener(report -> reports.add(report.toString())).build();
    try (var watched = UnifiedMemoryManager.create("cpu:0", options)) {
      assertThat(watched.allocate(ElementType.FLOAT, 10).length()).isEqualTo(10);
    }
    assertThat(reports).singleElement().asString().contains("1 buffer of FLOAT");
  }
}
