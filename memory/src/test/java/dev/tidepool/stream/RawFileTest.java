package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.Arguments;
import dev.tidepool.ComputeOrchestrator;
import dev.tidepool.ElementType;
import dev.tidepool.ExecutionOptions;
import dev.tidepool.Kernel;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.RawFile;
import dev.tidepool.Tidepool;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.WorkItem;
import dev.tidepool.stream.pipeline.ArrayEndpoint;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Files of elements and nothing else are streamed; so are arrays and buffers, if options say so.
 */
class RawFileTest {
  private static final int LENGTH = 50_001;
  private static final ExecutionOptions SMALL_CHUNKS =
      ExecutionOptions.defaults().withChunkBytes(16 << 10);

  @TempDir Path folder;
  private final Tidepool tidepool = Tidepool.open();
  private final ComputeOrchestrator orchestrator = tidepool.orchestrator();
  private final Queue<Long> chunks = new ConcurrentLinkedQueue<>();

  @AfterEach
  void close() {
    assertThat(tidepool.memory().buffers()).isEmpty();
    tidepool.close();
  }

  private static float[] ramp() {
    float[] values = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      values[i] = i;
    }
    return values;
  }

  private static float[] doubledRamp() {
    float[] values = ramp();
    for (int i = 0; i < LENGTH; i++) {
      values[i] *= 2;
    }
    return values;
  }

  private RawFile<float[]> file(String name) {
    return new RawFile<>(folder.resolve(name), ElementType.FLOAT);
  }

  private RawFile<float[]> holding(String name, float[] values) throws IOException {
    RawFile<float[]> file = file(name);
    Files.write(file.path(), MemorySegment.ofArray(values).toArray(ValueLayout.JAVA_BYTE));
    return file;
  }

  private static float[] contents(RawFile<float[]> file) throws IOException {
    byte[] bytes = Files.readAllBytes(file.path());
    float[] values = new float[bytes.length / 4];
    MemorySegment.copy(
        MemorySegment.ofArray(bytes),
        ValueLayout.JAVA_FLOAT_UNALIGNED,
        0,
        values,
        0,
        values.length);
    return values;
  }

  /** Doubles x to y, and notes how many items each launch has. */
  private void registerNoted() {
    orchestrator.register(
        "noted",
        KernelSource.java(
            item -> {
              long at = 4 * item.globalId(0);
              if (at == 0) {
                chunks.add(item.globalSize(0));
              }
              float value = item.array(0).get(ValueLayout.JAVA_FLOAT_UNALIGNED, at);
              item.array(1).set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, 2 * value);
            },
            KernelParameter.in("x", ElementType.FLOAT),
            KernelParameter.out("y", ElementType.FLOAT)));
  }

  @Test
  void kernelsByNameReadAndWriteThem() throws IOException {
    orchestrator.register("double", KernelSource.elementwise("y = 2*x"));
    orchestrator.execute("double", Arguments.of("x", holding("x.bin", ramp()), "y", file("y.bin")));
    assertThat(contents(file("y.bin"))).isEqualTo(doubledRamp());
    NpyFiles.assertFolderHolds(folder, "x.bin", "y.bin");
  }

  @Test
  void oneThatIsReadAndWrittenIsReplaced() throws IOException {
    orchestrator.register("double", KernelSource.elementwise("x = 2*x"));
    RawFile<float[]> x = holding("x.bin", ramp());
    orchestrator.executeAsync("double", Arguments.of("x", x), SMALL_CHUNKS).join();
    assertThat(contents(x)).isEqualTo(doubledRamp());
    NpyFiles.assertFolderHolds(folder, "x.bin");
  }

  @Test
  void chunksHaveTheSizeThatOptionsAskFor() throws IOException {
    registerNoted();
    orchestrator.execute(
        "noted", Arguments.of("x", holding("x.bin", ramp()), "y", file("y.bin")), SMALL_CHUNKS);
    assertThat(contents(file("y.bin"))).isEqualTo(doubledRamp());
    assertThat(chunks).hasSizeGreaterThanOrEqualTo(LENGTH / 4096).allMatch(size -> size <= 4096);
    assertThat(chunks.stream().mapToLong(Long::longValue).sum()).isEqualTo(LENGTH);
  }

  @Test
  void buffersAndArraysAreStreamedWithinAMemoryLimit() {
    registerNoted();
    float[] y = new float[LENGTH];
    try (UnifiedBuffer<float[]> x = tidepool.memory().copyOf(ramp())) {
      orchestrator.execute(
          "noted",
          Arguments.of("x", x, "y", y),
          ExecutionOptions.defaults().withMemoryLimit(64 << 10));
    }
    assertThat(y).isEqualTo(doubledRamp());
    // Two arrays of floats, in two chunks at least.
    assertThat(chunks).allMatch(size -> size * 8 * 2 <= 64 << 10);
    assertThat(chunks.stream().mapToLong(Long::longValue).sum()).isEqualTo(LENGTH);
  }

  @Test
  void withoutSuchOptionsBuffersAreOneLaunch() {
    registerNoted();
    float[] y = new float[LENGTH];
    orchestrator.execute("noted", Arguments.of("x", ramp(), "y", y));
    assertThat(y).isEqualTo(doubledRamp());
    assertThat(chunks).containsExactly((long) LENGTH);
  }

  @Test
  void mappedFilesAreStreamedInPlace() throws IOException {
    orchestrator.register("double", KernelSource.elementwise("x = 2*x"));
    RawFile<float[]> file = holding("x.bin", ramp());
    try (UnifiedBuffer<float[]> x =
        tidepool.memory().map(file.path(), ElementType.FLOAT, MapMode.READ_WRITE)) {
      orchestrator.execute("double", Arguments.of("x", x), SMALL_CHUNKS);
    }
    assertThat(contents(file)).isEqualTo(doubledRamp());
  }

  @Test
  void anInterruptKeepsNoFileFromBeingMappedAndStaysSet() throws IOException {
    RawFile<float[]> file = holding("x.bin", ramp());
    Thread.currentThread().interrupt();
    try (UnifiedBuffer<float[]> x =
        tidepool.memory().map(file.path(), ElementType.FLOAT, MapMode.READ)) {
      assertThat(Thread.interrupted()).isTrue();
      assertThat(x.length()).isEqualTo(LENGTH);
    } finally {
      var _ = Thread.interrupted();
    }
  }

  @Test
  void pipelinesReadAndWriteThemBesideOthers() throws IOException {
    RawFile<long[]> sums = new RawFile<>(folder.resolve("sums.bin"), ElementType.LONG);
    long[] numbers = new long[LENGTH];
    Arrays.setAll(numbers, i -> (long) i << 33);
    var outcome =
        Pipeline.from("x", holding("x.bin", ramp()))
            .and("n", new ArrayEndpoint<>(ElementType.LONG, numbers))
            .through("y = 2*x; s = n + n; total = max(x)")
            .to("y", file("y.bin"))
            .to("s", sums)
            .on(tidepool.memory())
            .run(StreamOptions.defaults().withChunkBytes(16 << 10));
    assertThat(contents(file("y.bin"))).isEqualTo(doubledRamp());
    assertThat(outcome.values()).containsEntry("total", (float) (LENGTH - 1));
    MemorySegment written = MemorySegment.ofArray(Files.readAllBytes(sums.path()));
    assertThat(written.byteSize()).isEqualTo(8L * LENGTH);
    assertThat(written.get(ValueLayout.JAVA_LONG_UNALIGNED, 8L * 50_000)).isEqualTo(50_000L << 34);
  }

  @Test
  void whereOneCannotAppearNoOtherResultDoes() throws IOException {
    Path late = folder.resolve("late.bin");
    Pipeline pipeline =
        Pipeline.from("x", ElementType.FLOAT, Stream.of(ramp()), LENGTH)
            .through("y = 2*x; z = x; w = x + 1")
            .to("y", folder.resolve("y.npy"))
            .to("z", new RawFile<>(late, ElementType.FLOAT))
            .to(
                "w",
                ElementType.FLOAT,
                (_, _) ->
                    assertThatCode(() -> Files.writeString(late, "precious"))
                        .doesNotThrowAnyException())
            .on(tidepool.memory());
    assertThatThrownBy(() -> pipeline.run(StreamOptions.defaults()))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("late.bin exists");
    NpyFiles.assertFolderHolds(folder, "late.bin");
  }

  @Test
  void streamsOfArraysGoToThem() throws IOException {
    var _ =
        Pipeline.from("x", ElementType.FLOAT, Stream.of(ramp()), LENGTH)
            .through("y = 2*x")
            .to("y", file("y.bin"))
            .on(tidepool.memory())
            .run(StreamOptions.defaults());
    assertThat(contents(file("y.bin"))).isEqualTo(doubledRamp());
  }

  static void twice(WorkItem item, float[] x, float[] y) {
    int i = (int) item.globalId(0);
    y[i] = 2 * x[i];
  }

  @Test
  void argumentsMayBeInOrder() throws IOException {
    orchestrator.register("twice", KernelSource.method(MethodHandles.lookup(), "twice"));
    orchestrator.execute(
        "twice", Arguments.inOrder(holding("x.bin", ramp()), file("y.bin")), SMALL_CHUNKS);
    assertThat(contents(file("y.bin"))).isEqualTo(doubledRamp());
    orchestrator.register("double", KernelSource.elementwise("y = 2*x"));
    assertThatThrownBy(
            () -> orchestrator.execute("double", Arguments.inOrder(file("x.bin"), file("z.bin"))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("name them");
  }

  @Test
  void whatDoesNotFitIsRefusedAndLeavesNothing() throws IOException {
    orchestrator.register("double", KernelSource.elementwise("y = 2*x"));
    RawFile<float[]> x = holding("x.bin", ramp());
    RawFile<double[]> wide = new RawFile<>(x.path(), ElementType.DOUBLE);
    refused(Arguments.of("x", wide, "y", file("y.bin")), "no whole number", "DOUBLE");
    refused(Arguments.of("x", file("none.bin"), "y", file("y.bin")), "does not exist");
    refused(
        Arguments.of("x", new RawFile<>(folder, ElementType.FLOAT), "y", file("y.bin")),
        "no regular file");
    refused(Arguments.of("x", x, "y", holding("y.bin", new float[1])), "y.bin exists");
    refused(Arguments.of("x", x, "y", new float[3]), "3 elements");
    refused(Arguments.of("x", x, "y", x), "x.bin");
    Kernel kernel = tidepool.memory().compile(KernelSource.elementwise("y = 2*x"));
    assertThatThrownBy(() -> kernel.execute(Arguments.of("x", x, "y", file("z.bin"))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("by name with the orchestrator");
    NpyFiles.assertFolderHolds(folder, "x.bin", "y.bin");
  }

  private void refused(Arguments arguments, String... parts) {
    assertThatThrownBy(() -> orchestrator.execute("double", arguments))
        .isInstanceOfAny(IllegalArgumentException.class, TransferException.class)
        .hasMessageContainingAll(parts);
  }

  @Test
  void anArrayIsNotWrittenUnderTwoNames() {
    orchestrator.register("two", KernelSource.elementwise("y = 2*x; z = 3*x"));
    float[] one = new float[LENGTH];
    assertThatThrownBy(
            () ->
                orchestrator.execute(
                    "two", Arguments.of("x", ramp(), "y", one, "z", one), SMALL_CHUNKS))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("written over each other");
  }

  @Test
  void optionsOutOfRangeAreRefused() {
    ExecutionOptions options = ExecutionOptions.defaults();
    assertThatThrownBy(() -> options.withChunkBytes(-1))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> options.withMemoryLimit(-1))
        .isInstanceOf(IllegalArgumentException.class);
    orchestrator.register("double", KernelSource.elementwise("y = 2*x"));
    float[] y = new float[LENGTH];
    assertThatThrownBy(
            () ->
                orchestrator.execute(
                    "double", Arguments.of("x", ramp(), "y", y), options.withMemoryLimit(100)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("the least that works");
    assertThat(options.withChunkBytes(5).preferring("cpu").on("auto").chunkBytes()).isEqualTo(5);
  }
}
