package dev.tidepool.examples.dotcompute;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tidepool.AbstractUnifiedBuffer;
import dev.tidepool.Accelerator;
import dev.tidepool.Arguments;
import dev.tidepool.ElementType;
import dev.tidepool.Kernel;
import dev.tidepool.KernelSource;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.NativeHandle;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.diagnostics.BufferMetrics;
import dev.tidepool.host.HostBlock;
import dev.tidepool.host.HostRequest;
import dev.tidepool.host.MemoryAllocator;
import dev.tidepool.host.NumaPolicy;
import dev.tidepool.pooling.EvictionPolicy;
import dev.tidepool.pooling.ObjectPool;
import dev.tidepool.pooling.ObjectPoolStatistics;
import dev.tidepool.transfer.Transfer;
import dev.tidepool.transfer.TransferOptions;
import dev.tidepool.transfer.TransferReport;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The examples on the page of the package DotCompute.Memory, each as short in Java. */
@DisplayName("The page of DotCompute.Memory")
class PackageExamplesTest {
  private static final int SIZE = 10_000;

  private final UnifiedMemoryManager memory = UnifiedMemoryManager.create();
  private final float[] data = new float[SIZE];

  @AfterEach
  void close() {
    assertThat(memory.buffers()).isEmpty();
    memory.close();
  }

  @Test
  void basicMemoryManagement() throws Exception {
    try (var buffer = memory.allocate(ElementType.FLOAT, SIZE);
        Kernel kernel = memory.compile(KernelSource.elementwise("x = x + 1"))) {
      buffer.copyFromAsync(data).get();
      kernel.executeAsync(Arguments.of("x", buffer)).get();
      float[] results = new float[SIZE];
      buffer.copyToAsync(results).get();
      assertThat(results).containsOnly(1);
    }
  }

  @Test
  void aManagerOnTheCpuAlone() {
    try (var cpu = UnifiedMemoryManager.create("cpu:0");
        var buffer = cpu.allocate(ElementType.DOUBLE, SIZE)) {
      buffer.copyFrom(new double[SIZE]);
      assertThat(buffer.accelerator().id()).isEqualTo("cpu:0");
    }
  }

  @Test
  void zeroCopyAccess() {
    try (var buffer = memory.allocate(ElementType.FLOAT, 1_000)) {
      MemorySegment bytes = buffer.asSegment();
      for (int i = 0; i < 1_000; i++) {
        bytes.setAtIndex(ValueLayout.JAVA_FLOAT, i, i * 2.0f);
      }
      buffer.synchronizeAsync().join();
      float[] read = new float[1_000];
      buffer.copyTo(read);
      assertThat(read[999]).isEqualTo(1998);
    }
  }

  @Test
  void objectPooling() {
    try (ObjectPool<StringBuilder> pool =
        ObjectPool.builder(StringBuilder::new)
            .reset(object -> object.setLength(0))
            .validate(object -> object.capacity() < 1_000_000)
            .maximum(1_000)
            .minimum(10)
            .eviction(EvictionPolicy.LRU)
            .build()) {
      StringBuilder object = pool.get();
      object.append("work");
      pool.put(object);
      ObjectPoolStatistics stats = pool.statistics();
      assertThat(stats.hitRate() + stats.allocationReduction()).isNotNegative();
      assertThat(stats.gets()).isEqualTo(1);
    }
  }

  @Test
  void theTransferEngine() {
    TransferOptions options =
        TransferOptions.builder()
            .maxConcurrency(4)
            .pinned(true)
            .pipelining(true)
            .chunkSize(1 << 20)
            .build();
    try (var first = memory.allocate(ElementType.FLOAT, SIZE);
        var second = memory.allocate(ElementType.FLOAT, SIZE);
        var third = memory.allocate(ElementType.FLOAT, SIZE)) {
      TransferReport result =
          memory
              .transfers()
              .transferAsync(
                  List.of(
                      Transfer.of(data, first),
                      Transfer.of(data, second),
                      Transfer.of(data, third)),
                  options)
              .join();
      assertThat(result.totalBytes()).isEqualTo(3 * 4L * SIZE);
      assertThat(result.averageBandwidth()).isPositive();
      assertThat(result.failures()).isZero();
    }
  }

  @Test
  void statisticsAndMonitoring() {
    try (var buffer = memory.copyOf(data)) {
      MemoryStatistics stats = memory.statistics();
      assertThat(stats.totalAllocated()).isEqualTo(4L * SIZE);
      assertThat(stats.activeBuffers()).isEqualTo(1);
      assertThat(stats.peakUsage()).isEqualTo(4L * SIZE);
      assertThat(stats.hitRate()).isZero();
      BufferMetrics metrics = buffer.metrics();
      assertThat(metrics.transfers()).isNotNegative();
      assertThat(metrics.averageTime()).isGreaterThanOrEqualTo(Duration.ZERO);
      assertThat(metrics.hitRate()).isBetween(0.0, 1.0);
      assertThat(metrics.lastAccess()).isNotNull();
    }
  }

  @Test
  void slicing() {
    try (var buffer = memory.copyOf(new int[1_000]);
        var slice = buffer.slice(100, 200);
        Kernel kernel = memory.compile(KernelSource.elementwise("x = x + 1"))) {
      kernel.execute(Arguments.of("x", slice));
      int[] all = new int[1_000];
      buffer.copyTo(all);
      assertThat(all[99] + 10 * all[100] + 100 * all[299] + 1_000 * all[300]).isEqualTo(110);
    }
  }

  @Test
  void allocationOnANumaNode() {
    HostBlock block =
        new MemoryAllocator()
            .allocate(HostRequest.of(4L * SIZE).aligned(64).from(NumaPolicy.preferred(0)));
    assertThat(block.segment().address() % 64).isZero();
    block.free();
  }

  @Test
  void managerOptions() {
    MemoryOptions options =
        MemoryOptions.builder()
            .pooling(true)
            .maxPoolBytes(1L << 30)
            .keptPoolBytes(64L << 20)
            .defragmentInterval(Duration.ofMinutes(5))
            .build();
    try (var configured = UnifiedMemoryManager.create(options)) {
      assertThat(configured.trimExcessAsync().join()).isZero();
    }
  }

  /** A buffer of a kind of its own takes six methods. */
  private static final class CustomBuffer extends AbstractUnifiedBuffer<float[]> {
    private final MemorySegment bytes = Arena.ofAuto().allocate(4L * SIZE, 4);

    @Override
    public ElementType<float[]> elementType() {
      return ElementType.FLOAT;
    }

    @Override
    public long length() {
      return SIZE;
    }

    @Override
    public MemoryLocation location() {
      return MemoryLocation.HOST;
    }

    @Override
    public Accelerator accelerator() {
      throw new UnsupportedOperationException("plain memory");
    }

    @Override
    public MemorySegment asSegment() {
      return bytes;
    }

    @Override
    public void close() {}
  }

  @Test
  void customBufferTypes() {
    try (var custom = new CustomBuffer();
        var buffer = memory.allocate(ElementType.FLOAT, SIZE);
        Kernel kernel = memory.compile(KernelSource.elementwise("y = x + 1"))) {
      kernel.execute(Arguments.of("x", custom, "y", buffer));
      custom.copyFrom(buffer);
      assertThat(custom.asSegment().get(ValueLayout.JAVA_FLOAT, 0)).isEqualTo(1);
    }
  }

  @Test
  void memoryOfOtherLibraries() {
    AtomicInteger freed = new AtomicInteger();
    try (Arena library = Arena.ofShared()) {
      MemorySegment external = library.allocate(4L * SIZE, 64);
      try (var lent = memory.wrap(ElementType.FLOAT, external)) {
        lent.copyFrom(data);
      }
      NativeHandle handle = NativeHandle.of(external);
      memory.adopt(ElementType.FLOAT, handle, freed::incrementAndGet).close();
      memory.synchronize();
      assertThat(freed).hasValue(1);
    }
  }

  @Test
  void sharingBetweenProcesses() {
    String name = "shared-compute-buffer-" + ProcessHandle.current().pid();
    try (UnifiedBuffer<float[]> shared = memory.createShared(ElementType.FLOAT, SIZE, name);
        UnifiedBuffer<float[]> remote = memory.openShared(ElementType.FLOAT, name)) {
      shared.fill(new float[] {3});
      float[] seen = new float[SIZE];
      remote.copyTo(seen);
      assertThat(seen).containsOnly(3);
    }
  }
}
