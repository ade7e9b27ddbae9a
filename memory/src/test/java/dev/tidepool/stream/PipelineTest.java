package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.KernelParameter;
import dev.tidepool.KernelSource;
import dev.tidepool.MapMode;
import dev.tidepool.RawFile;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class PipelineTest {
  private static final int LENGTH = 300_007;
  private static final StreamOptions SMALL = StreamOptions.defaults().withChunkBytes(64 << 10);

  @TempDir Path folder;
  private final UnifiedMemoryManager memory = UnifiedMemoryManager.create();

  @AfterEach
  void noBufferIsLeftOpen() {
    assertThat(memory.buffers()).isEmpty();
    memory.close();
  }

  private Path path(String name) {
    return folder.resolve(name + ".npy");
  }

  private Path file(String name, List<Long> shape, float[] values) {
    NpyFiles.write(path(name), shape, values);
    return path(name);
  }

  private float[] floats(String name) {
    return NpyFiles.floats(path(name));
  }

  @Test
  void filesGoThroughSeveralKernelsToFilesAndValues() {
    Path x = file("x", List.of(7L, 100L), NpyFiles.counting(700));
    Pipeline.Outcome outcome =
        Pipeline.from("x", x)
            .through("t = a * x")
            .through("y = t + 1; total = sum(t); h = histogram(x, bins, 0, 1000)")
            .with("a", 2)
            .with("bins", 2)
            .to("y", path("y"))
            .on(memory)
            .run();

    float[] expected = new float[700];
    double total = 0;
    for (int i = 0; i < 700; i++) {
      expected[i] = 2 * i + 1;
      total += 2 * i;
    }
    assertThat(floats("y")).containsExactly(expected);
    try (NpyReader y = NpyReader.open(path("y"))) {
      assertThat(y.header().shape()).containsExactly(7L, 100L);
    }
    assertThat(outcome.values().get("total")).isEqualTo((float) total);
    assertThat((long[]) outcome.values().get("h")).containsExactly(500, 200);
  }

  @Test
  void handWrittenKernelsAndExpressionsFollowEachOther() {
    KernelSource halve =
        KernelSource.java(
            item -> {
              long at = item.globalId(0) * 4;
              float value = item.array(0).get(ValueLayout.JAVA_FLOAT_UNALIGNED, at);
              item.array(1).set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, value / 2);
            },
            KernelParameter.in("t", ElementType.FLOAT),
            KernelParameter.out("half", ElementType.FLOAT));
    float[] values = NpyFiles.counting(LENGTH);
    try (UnifiedBuffer<float[]> x = memory.copyOf(values);
        UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, LENGTH)) {
      Pipeline.from("x", x)
          .through("t = x + 4")
          .through(halve)
          .through("y = half * half")
          .to("y", y)
          .on(memory)
          .run(SMALL);

      float[] found = new float[LENGTH];
      y.copyTo(found);
      for (int i = 0; i < LENGTH; i++) {
        float half = (values[i] + 4) / 2;
        assertThat(found[i]).isEqualTo(half * half);
      }
    }
  }

  @Test
  void aMappedFileIsASource() throws IOException {
    Path raw = folder.resolve("raw");
    float[] values = NpyFiles.counting(LENGTH);
    try (FileChannel channel =
        FileChannel.open(raw, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      byte[] bytes = MemorySegment.ofArray(values).toArray(ValueLayout.JAVA_BYTE);
      assertThat(channel.write(java.nio.ByteBuffer.wrap(bytes))).isEqualTo(bytes.length);
    }
    try (UnifiedBuffer<float[]> x = memory.map(raw, ElementType.FLOAT, MapMode.READ)) {
      Pipeline.from("x", x).through("y = x - 1").to("y", path("y")).on(memory).run(SMALL);
    }
    float[] expected = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      expected[i] = values[i] - 1;
    }
    assertThat(Arrays.equals(floats("y"), expected)).isTrue();
  }

  @Test
  void aStreamOfArraysIsComputedAsItComes() {
    double[] found = new double[100_000];
    int[] lengths = {1, 0, 5000, 3, 70_000, 0, 24_996};
    AtomicLong next = new AtomicLong();
    Stream<int[]> arrays =
        Arrays.stream(lengths)
            .mapToObj(
                length ->
                    IntStream.range(0, length).map(_ -> (int) next.getAndIncrement()).toArray());
    Pipeline.from("x", ElementType.INT, arrays)
        .through("y = x * 0.5")
        .to(
            "y",
            ElementType.DOUBLE,
            (offset, elements) ->
                System.arraycopy(elements, 0, found, (int) offset, elements.length))
        .on(memory)
        .run(SMALL.withMemoryLimit(1 << 20));

    for (int i = 0; i < found.length; i++) {
      assertThat(found[i]).isEqualTo(i * 0.5);
    }
  }

  @Test
  void whatAConsumerThrowsEndsIt() {
    RuntimeException enough = new IllegalStateException("enough");
    Pipeline pipeline =
        Pipeline.from("x", file("x", List.of((long) LENGTH), NpyFiles.counting(LENGTH)))
            .through("y = x; z = x")
            .to(
                "y",
                ElementType.FLOAT,
                (_, _) -> {
                  throw enough;
                })
            .to("z", path("z"))
            .on(memory);

    assertThatThrownBy(() -> pipeline.run(SMALL)).isSameAs(enough);
    assertThat(folder).isDirectoryNotContaining(file -> !file.equals(path("x")));
  }

  @Test
  @Timeout(60)
  void aConsumerCannotRunItsOwnPipeline() {
    Pipeline pipeline =
        Pipeline.from("x", file("x", List.of((long) LENGTH), NpyFiles.counting(LENGTH)))
            .through("y = x")
            .on(memory);
    pipeline.to("y", ElementType.FLOAT, (_, _) -> pipeline.run(SMALL));

    assertThatThrownBy(() -> pipeline.run(SMALL))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("runs already");
  }

  @Test
  void cancellingLeavesNothing() throws IOException {
    Pipeline pipeline =
        Pipeline.from("x", file("x", List.of((long) LENGTH), NpyFiles.counting(LENGTH)))
            .through("y = x; z = x")
            .to("z", path("z"))
            .on(memory);
    pipeline.to("y", ElementType.FLOAT, (_, _) -> pipeline.cancel());

    assertThatThrownBy(() -> pipeline.run(SMALL)).isInstanceOf(CancellationException.class);
    NpyFiles.assertFolderHolds(folder, "x.npy");
  }

  @Test
  void aLaterKernelCannotUseAReduction() {
    Pipeline pipeline =
        Pipeline.from("x", file("x", List.of(3L), new float[3]))
            .through("s = sum(x)")
            .through("y = x - s")
            .to("y", path("y"))
            .on(memory);

    assertThatThrownBy(() -> pipeline.run(SMALL))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'s' is known when all elements were read");
  }

  @Test
  void anErrorShowsTheExpressionWithItsReductions() {
    Pipeline pipeline =
        Pipeline.from("x", file("x", List.of(3L), NpyFiles.counting(3)))
            .through("d = 2 * x")
            .through("low = min(d); h = histogram(d & 3, 3, 0, 15)")
            .on(memory);

    assertThatThrownBy(() -> pipeline.run(SMALL))
        .isInstanceOf(KernelCompilationException.class)
        .hasMessageEndingWith(
            """
            '&' is not defined for float32 at column 31; it takes integers
              low = min(d); h = histogram(d & 3, 3, 0, 15)
                                            ^\
            """);
  }

  @Test
  void whatIsMissingIsTold() {
    Path x = file("x", List.of(3L), new float[3]);

    assertThatThrownBy(() -> Pipeline.from("x", x).to("y", path("y")).on(memory).run(SMALL))
        .hasMessageContaining("without a kernel");
    assertThatThrownBy(() -> Pipeline.from("x", x).through("y = x").to("y", path("y")).run(SMALL))
        .hasMessageContaining("without an accelerator");
    assertThatThrownBy(
            () -> Pipeline.from("x", x).through("y = x").to("z", path("z")).on(memory).run(SMALL))
        .hasMessageContaining("no kernel makes 'z'");
    assertThatThrownBy(() -> Pipeline.from("x", x).through("y = x").on(memory).run(SMALL))
        .hasMessageContaining("without a result; add one with to");
    assertThatThrownBy(
            () ->
                Pipeline.from("x", x).through("y = x + q").to("y", path("y")).on(memory).run(SMALL))
        .hasMessageStartingWith(
            "unknown name 'q' at column 9; add a source for it, or set a number by with(name,"
                + " number)\n");
    assertThatThrownBy(() -> Pipeline.from("x", x).and("x", x))
        .hasMessageContaining("'x' is given twice");
    assertThatThrownBy(
            () ->
                Pipeline.from("x", ElementType.FLOAT, Stream.of(new float[3]))
                    .through("y = x")
                    .to("y", path("y"))
                    .on(memory)
                    .run(SMALL))
        .hasMessageContaining("consumers only");
    assertThat(Files.exists(path("y"))).isFalse();
  }

  @Test
  @SuppressWarnings("NullAway") // what is called is written in Java without annotations
  void aNullIsRefusedByTheCallThatPassesIt() {
    Pipeline pipeline = Pipeline.from("x", path("x"));
    refusesNull("name", () -> pipeline.and(null, path("y")));
    refusesNull("file", () -> pipeline.and("y", (Path) null));
    refusesNull("file", () -> pipeline.and("y", (RawFile<?>) null));
    refusesNull("buffer", () -> pipeline.and("y", (UnifiedBuffer<?>) null));
    refusesNull("source", () -> pipeline.and("y", (ElementSource) null));
    Stream<float[]> arrays = Stream.of(new float[3]);
    refusesNull("name", () -> Pipeline.from(null, ElementType.FLOAT, arrays));
    refusesNull("type", () -> Pipeline.from("x", (ElementType<float[]>) null, arrays));
    refusesNull("arrays", () -> Pipeline.from("x", ElementType.FLOAT, null));
    refusesNull("name", () -> pipeline.with(null, 2));
    refusesNull("scalar", () -> pipeline.with("a", null));
    refusesNull("expression", () -> pipeline.through((String) null));
    refusesNull("kernel", () -> pipeline.through((KernelSource) null));
    refusesNull("name", () -> pipeline.to(null, path("z")));
    refusesNull("file", () -> pipeline.to("z", (Path) null));
    refusesNull("file", () -> pipeline.to("z", (RawFile<?>) null));
    refusesNull("buffer", () -> pipeline.to("z", (UnifiedBuffer<?>) null));
    refusesNull("sink", () -> pipeline.to("z", (ElementSink) null));
    refusesNull("type", () -> pipeline.to("z", (ElementType<float[]>) null, (_, _) -> {}));
    refusesNull("consumer", () -> pipeline.to("z", ElementType.FLOAT, null));
    refusesNull("manager", () -> pipeline.on((UnifiedMemoryManager) null));

    float[] values = {1, 2, 3};
    file("x", List.of(3L), values);
    Path y = file("y", List.of(3L), values);
    pipeline.and("y", y).through("z = x + y").to("z", path("z")).on(memory).run(SMALL);
    assertThat(floats("z")).as("no refused name was kept").containsExactly(2, 4, 6);
  }

  private static void refusesNull(String parameter, ThrowingCallable call) {
    assertThatThrownBy(call)
        .as(parameter)
        .isInstanceOf(NullPointerException.class)
        .hasMessage(parameter);
  }

  /** A kernel that reads what no source gives would get what was in memory before. */
  @Test
  void aNameThatNobodyGivesOrUsesIsRefused() {
    try (UnifiedBuffer<float[]> x = memory.copyOf(new float[3]);
        UnifiedBuffer<float[]> y = memory.copyOf(new float[3]);
        UnifiedBuffer<float[]> z = memory.copyOf(new float[3])) {
      Pipeline.from("x", x).and("y", y).through("y = x + y").to("y", y).on(memory).run(SMALL);
      assertThatThrownBy(
              () -> Pipeline.from("x", x).through("y = x + y").to("y", y).on(memory).run(SMALL))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("'y' is read before a kernel has made it");
      assertThatThrownBy(() -> inTwoSteps(x, y).to("z", z).run(SMALL))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("no kernel makes 'z'");
      assertThatThrownBy(() -> inTwoSteps(x, y).and("z", z).run(SMALL))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("no kernel uses 'z'");
      assertThatThrownBy(
              () ->
                  Pipeline.from("x", x)
                      .and("z", z.slice(0, 2))
                      .through("y = x + z")
                      .to("y", y)
                      .on(memory)
                      .run(SMALL))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageMatching("'[xyz]' has [23] elements, but other arrays have [23]");
      assertThatThrownBy(() -> inTwoSteps(x, y).with("a", 2).run(SMALL))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("no kernel uses 'a'");
      assertThatThrownBy(() -> inTwoSteps(x, y).with("x", 2).run(SMALL))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("'x' is given twice");
    }
  }

  private Pipeline inTwoSteps(UnifiedBuffer<float[]> x, UnifiedBuffer<float[]> y) {
    return Pipeline.from("x", x).through("t = x + 1").through("y = t * 2").to("y", y).on(memory);
  }

  @Test
  void aPipelineThatWasCancelledGoesOnWhenItIsResumable() throws IOException {
    Path x = file("x", List.of((long) LENGTH), NpyFiles.counting(LENGTH));
    Path y = path("y");
    for (int i = 0; i < 2; i++) {
      Pipeline pipeline =
          Pipeline.from("x", x).through("y = x + 1").to("y", y).on(memory).resumable();
      if (i == 0) {
        pipeline.cancel();
        assertThatThrownBy(() -> pipeline.run(SMALL)).isInstanceOf(CancellationException.class);
        assertThat(Files.exists(y)).isFalse();
      } else {
        assertThat(pipeline.run(SMALL).resumption()).startsWith("goes on");
      }
    }
    float[] expected = NpyFiles.counting(LENGTH);
    for (int i = 0; i < LENGTH; i++) {
      expected[i]++;
    }
    assertThat(Arrays.equals(floats("y"), expected)).isTrue();
    NpyFiles.assertFolderHolds(folder, "x.npy", "y.npy");
  }

  @Test
  void aNameGoesToOnePlaceAndAPlaceTakesOneName() throws IOException {
    Path x = file("x", List.of(3L), new float[] {1, 2, 3});
    Pipeline one = Pipeline.from("x", x).through("y = x + 1; z = x + 2").to("y", path("y"));

    assertThatThrownBy(() -> one.to("y", path("z")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'y' goes to two places");
    assertThatThrownBy(() -> one.to("y", ElementType.FLOAT, (_, _) -> {}))
        .hasMessageContaining("'y' goes to two places");
    Path detour = folder.resolve("nowhere").resolve("..").resolve("y.npy");
    assertThatThrownBy(() -> one.to("z", detour).on(memory).run(SMALL))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("is the output 'z' and also 'y'");
    assertThatThrownBy(
            () ->
                Pipeline.from("x", x)
                    .through("y = x + 1")
                    .to("y", x)
                    .overwriting()
                    .on(memory)
                    .run(SMALL))
        .hasMessageContaining("is the output 'y' and also 'x'");
    NpyFiles.assertFolderHolds(folder, "x.npy");

    Pipeline.from("x", x).through("x = x + 1").to("x", x).overwriting().on(memory).run(SMALL);
    assertThat(floats("x")).containsExactly(2, 3, 4);
    assertThatThrownBy(
            () ->
                Pipeline.from("x", x)
                    .through("x = x + 1")
                    .to("x", x)
                    .overwriting()
                    .resumable()
                    .on(memory)
                    .run(SMALL))
        .as("an end between the file and its journal would add twice")
        .hasMessageContaining("is the output 'x' and also 'x'");
  }

  @Test
  void compiledKernelsAreComparedByTheirCode() throws IOException {
    Path x = file("x", List.of(3L), new float[3]);
    List<String> journals = new ArrayList<>();
    for (int code : new int[] {1, 2, 2}) {
      KernelSource kernel =
          new KernelSource.CudaImage(
              ByteBuffer.wrap(new byte[] {(byte) code, 3, 4}),
              "f",
              List.of(
                  KernelParameter.in("x", ElementType.FLOAT),
                  KernelParameter.out("y", ElementType.FLOAT)));
      // The processor cannot run it, but by then it is known what the work is.
      assertThatThrownBy(
              () ->
                  Pipeline.from("x", x)
                      .through(kernel)
                      .to("y", path("y"))
                      .on(memory)
                      .resumable()
                      .run(SMALL))
          .isInstanceOf(RuntimeException.class);
      journals.add(Files.readString(folder.resolve(".y.npy.tidepool-journal")));
    }

    assertThat(journals.get(1)).isNotEqualTo(journals.get(0)).isEqualTo(journals.get(2));
    assertThat(journals.get(0).lines().filter(line -> line.contains("kernel")).toList())
        .isNotEqualTo(journals.get(1).lines().filter(line -> line.contains("kernel")).toList());
  }

  @Test
  void whatCannotBeResumedIsRefusedWithTheReason() throws IOException {
    Path x = file("x", List.of(3L), new float[3]);
    try (UnifiedBuffer<float[]> buffer = memory.copyOf(new float[3])) {
      requireReason(Pipeline.from("x", buffer), "'x' is read from something else than a .npy file");
      requireReason(
          Pipeline.from("x", x).to("z", buffer), "'z' is written to something else than a .npy");
    }
    requireReason(
        Pipeline.from("x", ElementType.FLOAT, Stream.of(new float[3]), 3), "a stream of arrays");
    requireReason(
        Pipeline.from("x", x).through("total = sum(x)"), "'total' is a value of all elements");
    KernelSource java = KernelSource.java(_ -> {}, KernelParameter.out("q", ElementType.FLOAT));
    requireReason(Pipeline.from("x", x).through(java), "one of its kernels is Java code");
    NpyFiles.assertFolderHolds(folder, "x.npy");
  }

  private void requireReason(Pipeline pipeline, String reason) {
    pipeline.through("y = x + 1; z = x + 2").to("y", path("y")).on(memory).resumable();
    assertThatThrownBy(() -> pipeline.run(SMALL))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("the pipeline cannot be resumed: ")
        .hasMessageContaining(reason);
  }

  @Test
  void aFileOfAnotherTypeIsToldWithTheKernelThatTakesIt() throws IOException {
    Path x = file("x", List.of(3L), new float[3]);
    KernelParameter[] parameters = {
      KernelParameter.in("x", ElementType.DOUBLE), KernelParameter.out("y", ElementType.DOUBLE)
    };
    for (KernelSource kernel :
        List.of(
            KernelSource.opencl("", "scale", parameters), KernelSource.java(_ -> {}, parameters))) {
      String called = kernel instanceof KernelSource.Java ? "the kernel in Java" : "kernel 'scale'";
      assertThatThrownBy(
              () -> Pipeline.from("x", x).through(kernel).to("y", path("y")).on(memory).run(SMALL))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("'x' in " + x + " holds FLOAT elements, but " + called + " takes DOUBLE");
    }
  }

  @Test
  void theSameBitsAreNotPromisedWhereAnotherAcceleratorMayGoOn() {
    Path x = file("x", List.of(3L), new float[3]);
    Pipeline pipeline =
        Pipeline.from("x", x).through("y = exp(x)").to("y", path("y")).on(memory).resumable();

    assertThatThrownBy(() -> pipeline.run(SMALL.withDeterministic()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("cannot be resumed with the same bits");
    assertThat(pipeline.run(SMALL).resumption()).isEmpty();
  }
}
