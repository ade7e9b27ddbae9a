package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.tidepool.host.SharedFolder;
import dev.tidepool.host.SharedMemory;
import dev.tidepool.interop.ArrowC;
import dev.tidepool.interop.ArrowExport;
import dev.tidepool.interop.DLPack;
import dev.tidepool.interop.DLPackExport;
import dev.tidepool.pooling.ArrayPool;
import dev.tidepool.pooling.ObjectPool;
import dev.tidepool.stream.ChunkedPipeline;
import dev.tidepool.stream.NpyEvaluation;
import dev.tidepool.stream.NpyHeader;
import dev.tidepool.stream.NpyReader;
import dev.tidepool.stream.NpyType;
import dev.tidepool.stream.NpyWriter;
import dev.tidepool.stream.Pipeline;
import dev.tidepool.stream.StreamOptions;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a log or a debugger shows of the objects that users hold. */
class PrintedFormsTest {
  @TempDir static Path folder;
  private static final Tidepool TIDEPOOL = Tidepool.open();
  private static final UnifiedMemoryManager MEMORY = TIDEPOOL.memory(TIDEPOOL.accelerator("cpu:0"));
  private static final List<AutoCloseable> OPEN = new ArrayList<>();
  private static Path file;

  @BeforeAll
  static void writeFile() {
    file = folder.resolve("x.npy");
    NpyHeader header = NpyHeader.of(NpyType.FLOAT32, false, List.of(3L, 4L));
    try (NpyWriter writer = NpyWriter.create(file, header, false)) {
      writer.commit();
    }
  }

  @AfterAll
  static void closeAll() throws Exception {
    for (AutoCloseable each : OPEN.reversed()) {
      each.close();
    }
    TIDEPOOL.close();
  }

  private static <C extends AutoCloseable> C open(C object) {
    OPEN.add(object);
    return object;
  }

  @ParameterizedTest
  @MethodSource({"ofTheLibrary", "ofExchange", "ofStreams"})
  void theTextSaysWhatTheObjectIs(Object object, String pattern) {
    assertThat(object.toString()).matches(pattern);
  }

  static Stream<org.junit.jupiter.params.provider.Arguments> ofTheLibrary() {
    TIDEPOOL.orchestrator().register("twice", KernelSource.elementwise("y = 2*x"));
    UnifiedBuffer<float[]> x = open(MEMORY.copyOf(new float[3]));
    NativeAccess closed = MEMORY.lend(NativeUse.read(x));
    closed.close();
    HostMapping unmapped = x.map(MapMode.READ);
    unmapped.close();
    ArrayPool<float[]> arrays = open(ArrayPool.create(ElementType.FLOAT));
    arrays.rent(5);
    ObjectPool<StringBuilder> builders =
        open(ObjectPool.create(ObjectPool.builder(StringBuilder::new).options()));
    return Stream.of(
        arguments(TIDEPOOL.orchestrator(), "ComputeOrchestrator\\[twice]"),
        arguments(TIDEPOOL.peers(), "PeerAccess\\[cpu:0 \\(.*\\).*]"),
        arguments(MEMORY.transfers(), "TransferEngine\\[cpu:0]"),
        arguments(open(MEMORY.lend(NativeUse.read(x))), "NativeAccess\\[.*FLOAT.*]"),
        arguments(closed, "NativeAccess\\[.*, closed]"),
        arguments(open(x.map(MapMode.READ)), "HostMapping\\[READ of 12 bytes]"),
        arguments(unmapped, "HostMapping\\[READ of 12 bytes, closed]"),
        arguments(arrays, "ArrayPool\\[FLOAT, 0 idle, 1 rented]"),
        arguments(builders, "ObjectPool\\[0 idle, 0 leased]"));
  }

  static Stream<org.junit.jupiter.params.provider.Arguments> ofExchange() {
    UnifiedBuffer<float[]> x = open(MEMORY.copyOf(new float[3]));
    DLPackExport tensor = DLPack.export(x);
    tensor.close();
    ArrowExport column = ArrowC.export(x);
    column.close();
    SharedMemory shared =
        SharedMemory.create(SharedFolder.of(Optional.of(folder)), ElementType.INT, 3, "printed");
    return Stream.of(
        arguments(open(DLPack.export(x)), "DLPackExport\\[0x[0-9a-f]+, not handed over]"),
        arguments(tensor, "DLPackExport\\[0x[0-9a-f]+, released]"),
        arguments(open(ArrowC.export(x)), "ArrowExport\\[0x[0-9a-f]+]"),
        arguments(column, "ArrowExport\\[closed, released]"),
        arguments(open(shared), "SharedMemory\\[12 bytes]"));
  }

  static Stream<org.junit.jupiter.params.provider.Arguments> ofStreams() {
    NpyReader reader = open(NpyReader.open(file));
    Path target = folder.resolve("y.npy");
    NpyWriter writer = open(NpyWriter.create(target, reader.header(), false));
    UnifiedBuffer<float[]> y = open(MEMORY.allocate(ElementType.FLOAT, 12));
    Pipeline pipeline =
        Pipeline.from("x", file)
            .through("y = 2*x; h = histogram(y, 2, 0, 1)")
            .to("y", y)
            .on(MEMORY);
    Kernel kernel = MEMORY.compile(KernelSource.elementwise("y = 2*x"));
    ChunkedPipeline chunked =
        ChunkedPipeline.of(MEMORY, kernel)
            .source("x", reader)
            .sink("y", writer)
            .build(StreamOptions.defaults());
    NpyEvaluation evaluation =
        NpyEvaluation.open(
            new NpyEvaluation.Request(
                "z = 2*x",
                Map.of("x", file),
                Map.of("z", folder.resolve("z.npy")),
                Map.of(),
                null,
                false,
                StreamOptions.defaults()));
    return Stream.of(
        arguments(reader, "NpyReader\\[.*x\\.npy, float32, 3 x 4]"),
        arguments(writer, "NpyWriter\\[.*y\\.npy, float32, 3 x 4]"),
        arguments(open(evaluation), "NpyEvaluation\\[z = 2\\*x, 12 elements]"),
        arguments(chunked, "ChunkedPipeline\\[12 elements, \\d+ lanes]"),
        arguments(pipeline, "Pipeline\\[from \\[x] through 1 kernel to \\[y, h]]"),
        arguments(pipeline.run(), "Outcome\\[values=\\{h=\\[12, 0]}, dropped=\\[], resumption=]"));
  }
}
