package dev.tidepool.examples.dotcompute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Allocation;
import dev.tidepool.Arguments;
import dev.tidepool.Capability;
import dev.tidepool.ComputeOrchestrator;
import dev.tidepool.ElementType;
import dev.tidepool.ExecutionOptions;
import dev.tidepool.KernelMethod;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.MemoryInfo;
import dev.tidepool.MemoryLocation;
import dev.tidepool.MemoryOptions;
import dev.tidepool.MemoryStatistics;
import dev.tidepool.OutOfDeviceMemoryException;
import dev.tidepool.RawFile;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.WorkItem;
import dev.tidepool.diagnostics.Fragmentation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The examples of DotCompute's guide on memory, each as short in Java. */
@DisplayName("DotCompute's memory guide")
class GuideExamplesTest {
  private static final int SIZE = 10_000;

  private final Tidepool tidepool = Tidepool.open();
  private final UnifiedMemoryManager memory = tidepool.memory();
  private final ComputeOrchestrator orchestrator = tidepool.orchestrator();
  private final float[] hostData = new float[SIZE];

  /** Where each example runs: the kernels that it names are there. */
  GuideExamplesTest() {
    orchestrator.register(Kernels.class);
    orchestrator.register("Double", KernelSource.elementwise("data = data * 2"));
    orchestrator.register("Kernel1", KernelSource.elementwise("intermediate = input + 1"));
    orchestrator.register("Kernel2", KernelSource.elementwise("output = input * 3"));
    for (int i = 0; i < SIZE; i++) {
      hostData[i] = i;
    }
  }

  @AfterEach
  void close() {
    assertThat(memory.buffers()).isEmpty();
    tidepool.close();
  }

  /** Each of {@link #hostData}, so many times. */
  private float[] times(int factor) {
    float[] products = hostData.clone();
    for (int i = 0; i < SIZE; i++) {
      products[i] *= factor;
    }
    return products;
  }

  private static float[] contents(UnifiedBuffer<float[]> buffer) {
    float[] array = new float[Math.toIntExact(buffer.length())];
    buffer.copyTo(array);
    return array;
  }

  /** Kernels that are methods. */
  public static final class Kernels {
    private Kernels() {}

    /** Writes twice the input. */
    @KernelMethod
    public static void processData(WorkItem item, float[] input, float[] output) {
      int idx = (int) item.globalId(0);
      if (idx < output.length) {
        output[idx] = input[idx] * 2.0f;
      }
    }
  }

  @Test
  void basicAllocation() {
    try (var buffer = memory.allocate(ElementType.FLOAT, SIZE, MemoryLocation.DEVICE)) {
      assertThat(buffer.length()).isEqualTo(SIZE);
    }
    UnifiedBuffer<float[]> closedByHand = memory.allocate(ElementType.FLOAT, SIZE);
    closedByHand.close();
  }

  @Test
  void allocationInTheBackground() throws Exception {
    try (var buffer = memory.allocateAsync(ElementType.FLOAT, SIZE).get()) {
      assertThat(buffer.byteSize()).isEqualTo(4L * SIZE);
    }
  }

  @Test
  void enablingPooling() {
    MemoryOptions options =
        MemoryOptions.builder()
            .pooling(true)
            .maxPoolBytes(4L << 30)
            .trimInterval(Duration.ofMinutes(5))
            .build();
    try (Tidepool pooled = Tidepool.open(options)) {
      pooled.memory().allocate(ElementType.FLOAT, SIZE).close();
      pooled.memory().allocate(ElementType.FLOAT, SIZE).close();
      assertThat(pooled.memory().statistics().poolHits()).isEqualTo(1);
    }
  }

  @Test
  void poolStatistics() {
    memory.allocate(ElementType.FLOAT, SIZE).close();
    MemoryStatistics stats = memory.statistics();
    String text =
        "%d %d %d %.1f %d %d"
            .formatted(
                stats.totalAllocations(),
                stats.poolHits(),
                stats.poolMisses(),
                100 * stats.hitRate(),
                stats.totalPooled() >> 20,
                stats.activeBuffers());
    assertThat(text).startsWith("1 0 1 0").endsWith(" 0");
  }

  @Test
  void hostToDeviceAndBack() throws Exception {
    try (var deviceBuffer = memory.allocate(ElementType.FLOAT, SIZE)) {
      deviceBuffer.copyFromAsync(hostData).get();
      orchestrator.execute("Double", Arguments.of("data", deviceBuffer));
      float[] result = new float[SIZE];
      deviceBuffer.copyToAsync(result).get();
      assertThat(result[SIZE - 1]).isEqualTo(2f * (SIZE - 1));
    }
  }

  @Test
  void pinnedTransfers() {
    try (var pinned = memory.allocate(ElementType.FLOAT, SIZE, MemoryLocation.PINNED);
        var device = memory.allocate(ElementType.FLOAT, SIZE)) {
      for (int batch = 0; batch < 3; batch++) {
        hostData[batch] = -batch;
        pinned.copyFrom(hostData);
        device.copyFrom(pinned);
        orchestrator.execute("Double", Arguments.of("data", device));
        assertThat(contents(device)).isEqualTo(times(2));
      }
      assertThat(contents(pinned)).isEqualTo(hostData);
    }
  }

  @Test
  void batchTransfers() throws Exception {
    try (var buffer = memory.allocate(ElementType.FLOAT, SIZE)) {
      buffer.copyFromAsync(hostData, 1_000, 2_000, 1_024).get();
      buffer.copyFrom(hostData);
      float[] result = new float[SIZE];
      buffer.copyTo(result);
      assertThat(result).isEqualTo(hostData);
    }
  }

  @Test
  void zeroCopyKernels() {
    try (var input = memory.copyOf(hostData);
        var output = memory.allocate(ElementType.FLOAT, SIZE)) {
      orchestrator.execute("processData", Arguments.of("input", input, "output", output));
      float[] result = new float[SIZE];
      output.copyTo(result);
      assertThat(result[7]).isEqualTo(14);
    }
  }

  @Test
  void kernelChaining() {
    try (var input = memory.copyOf(hostData);
        var intermediate = memory.allocate(ElementType.FLOAT, SIZE);
        var output = memory.allocate(ElementType.FLOAT, SIZE)) {
      orchestrator.execute("Kernel1", Arguments.of("input", input, "intermediate", intermediate));
      orchestrator.execute("Kernel2", Arguments.of("input", intermediate, "output", output));
      float[] result = new float[SIZE];
      output.copyTo(result);
      assertThat(result[5]).isEqualTo(18);
    }
  }

  @Test
  void unifiedMemory() {
    if (memory.accelerator().capabilities().contains(Capability.UNIFIED_MEMORY)) {
      try (var buffer = memory.allocate(ElementType.FLOAT, SIZE, MemoryLocation.UNIFIED)) {
        MemorySegment bytes = buffer.asSegment();
        for (int i = 0; i < SIZE; i++) {
          bytes.setAtIndex(ValueLayout.JAVA_FLOAT, i, i);
        }
        orchestrator.execute("Double", Arguments.of("data", buffer));
        assertThat(buffer.asSegment().getAtIndex(ValueLayout.JAVA_FLOAT, 9)).isEqualTo(18);
      }
    }
  }

  @Test
  void aPreferredBackend() {
    ExecutionOptions options = ExecutionOptions.defaults().preferring("cuda");
    try (var buffer = memory.copyOf(hostData, Allocation.at(MemoryLocation.UNIFIED))) {
      orchestrator.execute("Double", Arguments.of("data", buffer), options);
      assertThat(contents(buffer)).isEqualTo(times(2));
    }
  }

  /** A buffer that lives as long as its owner. */
  private final class DataProcessor implements AutoCloseable {
    private @Nullable UnifiedBuffer<float[]> buffer;

    void initialize() {
      buffer = memory.allocate(ElementType.FLOAT, SIZE);
    }

    void process(float[] data) {
      if (buffer == null) {
        throw new IllegalStateException("not initialized");
      }
      buffer.copyFrom(data);
      orchestrator.execute("Double", Arguments.of("data", buffer));
    }

    @Override
    public void close() {
      if (buffer != null) {
        buffer.close();
        buffer = null;
      }
    }
  }

  @Test
  void longLivedBuffers() {
    try (DataProcessor processor = new DataProcessor()) {
      assertThatThrownBy(() -> processor.process(hostData))
          .isInstanceOf(IllegalStateException.class);
      processor.initialize();
      for (int i = 0; i < 10; i++) {
        processor.process(hostData);
      }
      assertThat(memory.statistics().totalAllocations()).isEqualTo(1);
    }
  }

  @Test
  void closingWhileAKernelRunsIsSafe() {
    UnifiedBuffer<float[]> buffer = memory.copyOf(hostData);
    CompletableFuture<Void> task =
        orchestrator.executeAsync("Double", Arguments.of("data", buffer));
    buffer.close();
    task.join();
    assertThat(task).isCompleted();
  }

  @Test
  void bufferSizeMismatch() {
    try (var buffer = memory.allocate(ElementType.FLOAT, SIZE / 10)) {
      assertThatThrownBy(() -> buffer.copyFrom(hostData))
          .isInstanceOf(IndexOutOfBoundsException.class);
    }
  }

  @Test
  void batchAndSynchronizeOnce() {
    try (var buffer = memory.allocate(ElementType.FLOAT, SIZE)) {
      List<CompletableFuture<Void>> copies = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        copies.add(buffer.copyFromAsync(hostData));
      }
      memory.synchronize();
      assertThat(copies).allMatch(CompletableFuture::isDone);
    }
  }

  @Test
  void filesForHugeDatasets(@TempDir Path folder) throws IOException {
    Path hugeDataFile = Files.write(folder.resolve("huge.bin"), bytesOf(hostData));
    ExecutionOptions options = ExecutionOptions.defaults().withChunkBytes(4 << 10);
    orchestrator.execute(
        "Double", Arguments.of("data", new RawFile<>(hugeDataFile, ElementType.FLOAT)), options);
    assertThat(hugeDataFile).hasBinaryContent(bytesOf(times(2)));
    try (var mapped = memory.map(hugeDataFile, ElementType.FLOAT, MapMode.READ_WRITE)) {
      orchestrator.execute("Double", Arguments.of("data", mapped), options);
    }
    assertThat(hugeDataFile).hasBinaryContent(bytesOf(times(4)));
  }

  private static byte[] bytesOf(float[] array) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * array.length).order(ByteOrder.nativeOrder());
    bytes.asFloatBuffer().put(array);
    return bytes.array();
  }

  @Test
  void outOfMemory() {
    MemoryOptions options = MemoryOptions.builder().memoryLimit(16 << 10).build();
    try (var small = UnifiedMemoryManager.create(memory.accelerator(), options)) {
      assertThatThrownBy(() -> small.allocate(ElementType.FLOAT, SIZE))
          .isInstanceOf(OutOfDeviceMemoryException.class);

      MemoryInfo device = small.accelerator().memory();
      long available = Math.min(small.limit().orElseThrow(), device.freeBytes());
      int batchSize = (int) Math.min(SIZE, available * 8 / 10 / Float.BYTES);
      float[] result = new float[SIZE];
      for (int i = 0; i < SIZE; i += batchSize) {
        int size = Math.min(batchSize, SIZE - i);
        try (var chunk = small.allocate(ElementType.FLOAT, size)) {
          chunk.copyFrom(hostData, i, 0, size);
          orchestrator.execute("Double", Arguments.of("data", chunk));
          chunk.copyTo(0, result, i, size);
        }
      }
      assertThat(result).isEqualTo(times(2));
    }
  }

  @Test
  void fragmentation() {
    Fragmentation stats = memory.fragmentation();
    String text = "%d MB, %.1f".formatted(stats.largestFreeBlock() >> 20, stats.ratio() * 100);
    assertThat(text).contains(" MB, ");
    assertThat(memory.defragmentAsync().join().returnedBytes()).isNotNegative();
  }

  @Test
  void platformConfigurations() {
    MemoryOptions cuda =
        MemoryOptions.builder()
            .pinnedPoolBytes(2L << 30)
            .managedMemory(false)
            .maxPoolBytes(16L << 30)
            .build();
    MemoryOptions openCl = MemoryOptions.builder().zeroCopyBuffers(false).build();
    for (MemoryOptions options : List.of(cuda, openCl)) {
      try (Tidepool configured = Tidepool.open(options);
          var buffer = configured.memory().copyOf(hostData)) {
        assertThat(buffer.length()).isEqualTo(SIZE);
      }
    }
  }
}
