package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.tidepool.Capability;
import dev.tidepool.TransferException;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.expression.syntax.ExpressionException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NpyEvaluationTest {
  @TempDir Path folder;

  private final UnifiedMemoryManager memory = UnifiedMemoryManager.create();
  private final StreamOptions options = StreamOptions.defaults();

  @AfterEach
  void noBufferIsLeftOpen() {
    assertThat(memory.buffers()).isEmpty();
    memory.close();
  }

  private Path path(String name) {
    return folder.resolve(name + ".npy");
  }

  private Path write(String name, NpyType type, boolean fortran, List<Long> shape, Object array) {
    Path file = path(name);
    try (NpyWriter writer = NpyWriter.create(file, NpyHeader.of(type, fortran, shape), true)) {
      writer.write(
          0,
          switch (array) {
            case int[] ints -> MemorySegment.ofArray(ints);
            case float[] floats -> MemorySegment.ofArray(floats);
            case double[] doubles -> MemorySegment.ofArray(doubles);
            case short[] shorts -> MemorySegment.ofArray(shorts);
            case byte[] bytes -> MemorySegment.ofArray(bytes);
            case long[] longs -> MemorySegment.ofArray(longs);
            default -> throw new IllegalArgumentException("an array, not " + array);
          });
      writer.commit();
    }
    return file;
  }

  private NpyEvaluation.Request request(
      String expression, Map<String, Path> inputs, Map<String, Path> outputs) {
    return new NpyEvaluation.Request(expression, inputs, outputs, Map.of(), null, false, options);
  }

  private NpyEvaluation.Request masked(
      String expression, Map<String, Path> inputs, Map<String, Path> outputs, String mask) {
    return new NpyEvaluation.Request(
        expression, inputs, outputs, Map.of(), null, false, options, null, mask);
  }

  private void run(NpyEvaluation.Request request) {
    try (NpyEvaluation evaluation = NpyEvaluation.open(request)) {
      evaluation.run(memory);
    }
  }

  private NpyHeader header(String name) {
    try (NpyReader reader = NpyReader.open(path(name))) {
      return reader.header();
    }
  }

  private float[] floats(String name) {
    try (NpyReader reader = NpyReader.open(path(name))) {
      float[] values = new float[(int) reader.header().elementCount()];
      reader.read(0, MemorySegment.ofArray(values));
      return values;
    }
  }

  private int[] ints(String name) {
    try (NpyReader reader = NpyReader.open(path(name))) {
      int[] values = new int[(int) reader.header().elementCount()];
      reader.read(0, MemorySegment.ofArray(values));
      return values;
    }
  }

  @Test
  void streamsFilesOfManyChunksThroughSeveralAssignments() throws IOException {
    int count = 2_000_001;
    float[] x = new float[count];
    float[] y = new float[count];
    for (int i = 0; i < count; i++) {
      x[i] = i;
      y[i] = count - i;
    }
    Path xs = write("x", NpyType.FLOAT32, false, List.of((long) count), x);
    Path ys = write("y", NpyType.FLOAT32, false, List.of((long) count), y);
    NpyEvaluation.Request request =
        new NpyEvaluation.Request(
            "t = x - y; d = t * a; far = t > 0",
            Map.of("x", xs, "y", ys),
            Map.of("d", path("d"), "far", path("far")),
            Map.of("a", 0.5),
            null,
            false,
            options);
    try (NpyEvaluation evaluation = NpyEvaluation.open(request)) {
      assertThat(evaluation.totalBytes()).isEqualTo(13L * count);
      assertThat(evaluation.results().get("far").type()).isEqualTo(NpyType.BOOL);
      evaluation.run(memory);
    }

    float[] expected = new float[count];
    for (int i = 0; i < count; i++) {
      expected[i] = (x[i] - y[i]) * 0.5f;
    }
    assertThat(Arrays.mismatch(floats("d"), expected)).isEqualTo(-1);
    assertThat(header("far").type()).isEqualTo(NpyType.BOOL);
    byte[] far = Files.readAllBytes(path("far"));
    assertThat(far[128]).isZero();
    assertThat(far[far.length - 1]).isEqualTo((byte) 1);
    NpyFiles.assertFolderHolds(folder, "x.npy", "y.npy", "d.npy", "far.npy");
  }

  @ParameterizedTest
  @CsvSource({
    "x + y, int16, int32, INT32",
    "x * y, uint8, int8, INT16",
    "x / y, int32, int32, FLOAT64",
    "x + y, float32, int64, FLOAT64",
    "x < y, float32, int64, BOOL",
    "x + y, bool, uint64, UINT64",
  })
  void theResultHasNumPysType(String expression, String x, String y, NpyType type) {
    run(
        request(
            "z = " + expression,
            Map.of("x", NpyFiles.path(x + "-little"), "y", NpyFiles.path(y + "-big")),
            Map.of("z", path("z"))));

    assertThat(header("z").type()).isEqualTo(type);
  }

  @Test
  void anArrayMayBeReadForNoResult() {
    run(
        request(
            "unused = 2*x; z = 2*y",
            Map.of("x", NpyFiles.path("float32-little"), "y", NpyFiles.path("int32-big")),
            Map.of("z", path("z"))));

    assertThat(ints("z")).startsWith(-200, -126, -52);
  }

  @Test
  void aMaskThatIsNullIsRefusedWithWhatSelectsAll() {
    assertThatThrownBy(
            () ->
                new NpyEvaluation.Request(
                    "m = max(x)", Map.of(), Map.of(), Map.of(), null, false, options, 0, null))
        .isInstanceOf(NullPointerException.class)
        .hasMessage("mask; an empty text selects all elements");
  }

  @Test
  void theResultsTypeCanBeForced() {
    run(
        new NpyEvaluation.Request(
            "z = x * 0.5",
            Map.of("x", NpyFiles.path("float64-big")),
            Map.of("z", path("z")),
            Map.of(),
            NpyType.FLOAT32,
            false,
            options));

    assertThat(header("z").type()).isEqualTo(NpyType.FLOAT32);
    assertThat(floats("z")).startsWith(-2f, -1.25f);
  }

  @Test
  void otherByteOrdersAreSwappedWhileReading() {
    run(
        request(
            "z = x - y",
            Map.of("x", NpyFiles.path("int32-big"), "y", NpyFiles.path("int32-little")),
            Map.of("z", path("z"))));

    assertThat(ints("z")).containsOnly(0);
  }

  /** So many that critical calls are made where that is safe. */
  @ParameterizedTest
  @CsvSource({"<f4", ">f4"})
  void largeFilesMayGoStraightIntoArraysAndOut(String order) throws IOException {
    int chunk = 1 << 20;
    int chunks = 17;
    ByteOrder bytes = order.startsWith(">") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    try (FileChannel file =
        FileChannel.open(path("x"), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      String dictionary =
          "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }"
              .formatted(order, chunk * chunks);
      ByteBuffer header = ByteBuffer.allocate(128).order(ByteOrder.LITTLE_ENDIAN);
      header.put(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}).putShort((short) 118);
      header.put("%-117s\n".formatted(dictionary).getBytes(StandardCharsets.US_ASCII));
      file.write(header.rewind());
      ByteBuffer block = ByteBuffer.allocate(4 * chunk).order(bytes);
      for (int i = 0; i < chunk; i++) {
        block.putFloat(i);
      }
      for (int i = 0; i < chunks; i++) {
        file.write(block.rewind());
      }
    }
    NpyEvaluation.Request request =
        request("y = 2*x + 1", Map.of("x", path("x")), Map.of("y", path("y")));
    try (NpyEvaluation evaluation = NpyEvaluation.open(request)) {
      evaluation.allowCriticalCalls();
      evaluation.run(memory);
    }
    float[] expected = new float[chunk];
    for (int i = 0; i < chunk; i++) {
      expected[i] = 2f * i + 1;
    }
    try (NpyReader reader = NpyReader.open(path("y"))) {
      for (int i = 0; i < chunks; i++) {
        float[] found = new float[chunk];
        reader.read((long) i * chunk, MemorySegment.ofArray(found));
        assertThat(Arrays.equals(found, expected)).as("chunk %d", i).isTrue();
      }
    }
  }

  @Test
  void aSingleValueAndEmptyArraysKeepTheirShape() {
    run(request("z = x + 1", Map.of("x", NpyFiles.path("scalar")), Map.of("z", path("z"))));
    assertThat(header("z").shape()).isEmpty();
    run(request("w = x + 1", Map.of("x", NpyFiles.path("empty-3d")), Map.of("w", path("w"))));
    assertThat(header("w").shape()).containsExactly(3L, 0L, 2L);
  }

  @Test
  void fortranOrderIsKeptWhenAllInputsHaveIt() {
    Path x = NpyFiles.path("fortran-order");
    run(request("z = x + x", Map.of("x", x), Map.of("z", path("z"))));

    assertThat(header("z").fortranOrder()).isTrue();
    assertThat(ints("z")).startsWith(-200, -200 + 8 * 37);
  }

  @Test
  void whereOrdersDisagreeTheResultIsInCOrder() {
    run(
        request(
            "z = x - y",
            Map.of("x", NpyFiles.path("fortran-order"), "y", NpyFiles.path("c-order")),
            Map.of("z", path("z"))));

    assertThat(header("z").fortranOrder()).isFalse();
    assertThat(header("z").shape()).containsExactly(3L, 4L);
    assertThat(ints("z")).containsOnly(0);
  }

  /** Shapes with short and long columns, chunks that begin and end within rows. */
  @Test
  void fortranOrderIsTurnedForAnyShapeTypeAndChunk() {
    Random random = new Random(17);
    List<List<Long>> shapes =
        List.of(
            List.of(3L, 5000L),
            List.of(5000L, 3L),
            List.of(300L, 200L),
            List.of(2000L, 37L),
            List.of(70_000L, 2L),
            List.of(7L, 11L, 13L),
            List.of(40L, 3L, 50L),
            List.of(1L, 900L, 4L),
            List.of(3L, 2L, 5L, 7L, 11L));
    for (List<Long> shape : shapes) {
      int count = (int) shape.stream().mapToLong(Long::longValue).reduce(1, (a, b) -> a * b);
      for (NpyType type : List.of(NpyType.INT8, NpyType.INT16, NpyType.INT32, NpyType.INT64)) {
        byte[] inCOrder = new byte[count * type.byteSize()];
        random.nextBytes(inCOrder);
        Path c = write("c", type, false, shape, inCOrder);
        Path f = write("f", type, true, shape, fortran(inCOrder, type.byteSize(), shape));
        NpyEvaluation.Request request =
            new NpyEvaluation.Request(
                "z = x - y",
                Map.of("x", c, "y", f),
                Map.of("z", path("z")),
                Map.of(),
                null,
                true,
                options.withChunkBytes(random.nextLong(1, 100_000)));
        run(request);

        try (NpyReader reader = NpyReader.open(path("z"))) {
          assertThat(NpyFiles.read(reader)).as("%s of %s", shape, type).containsOnly(0);
        }
      }
    }
  }

  private static byte[] fortran(byte[] inCOrder, int width, List<Long> shape) {
    byte[] turned = new byte[inCOrder.length];
    int count = inCOrder.length / width;
    for (int k = 0; k < count; k++) {
      int rest = k;
      int[] index = new int[shape.size()];
      for (int d = shape.size() - 1; d >= 0; d--) {
        index[d] = (int) (rest % shape.get(d));
        rest = (int) (rest / shape.get(d));
      }
      int at = 0;
      for (int d = shape.size() - 1; d >= 0; d--) {
        at = (int) (at * shape.get(d) + index[d]);
      }
      System.arraycopy(inCOrder, k * width, turned, at * width, width);
    }
    return turned;
  }

  @Test
  void shapesThatDifferAreOneErrorThatNamesThem() throws IOException {
    assertThatThrownBy(
            () ->
                run(
                    request(
                        "z = x + y",
                        Map.of("x", NpyFiles.path("c-order"), "y", NpyFiles.path("int32-little")),
                        Map.of("z", path("z")))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("c-order.npy is (3, 4)")
        .hasMessageContaining("int32-little.npy is (12,)");
    NpyFiles.assertFolderHolds(folder);
  }

  @Test
  void anOutputThatIsAnInputOrAnotherOutputIsRefused() throws IOException {
    Path x = write("x", NpyType.INT32, false, List.of(2L), new int[] {1, 2});
    Path link = Files.createSymbolicLink(path("link"), x);
    for (Path z : List.of(x, link, folder.resolve("../" + folder.getFileName() + "/x.npy"))) {
      assertThatThrownBy(() -> run(request("z = x", Map.of("x", x), Map.of("z", z))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("is the output 'z' and also 'x'");
    }
    assertThatThrownBy(
            () ->
                run(
                    request(
                        "z = x; w = x", Map.of("x", x), Map.of("z", path("z"), "w", path("z")))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("and also");
    Path linked = Files.createSymbolicLink(folder.resolve("again"), folder).resolve("z.npy");
    assertThatThrownBy(
            () -> run(request("z = x; w = x", Map.of("x", x), Map.of("z", path("z"), "w", linked))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("and also");
    assertThat(ints("x")).containsExactly(1, 2);
  }

  @Test
  void anExistingOutputIsRefusedUnlessAllowed() {
    Path x = write("x", NpyType.INT32, false, List.of(2L), new int[] {1, 2});
    Path z = write("z", NpyType.INT32, false, List.of(2L), new int[] {3, 4});
    NpyEvaluation.Request careful = request("z = x", Map.of("x", x), Map.of("z", z));
    assertThatThrownBy(() -> run(careful))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("z.npy exists");
    assertThat(ints("z")).containsExactly(3, 4);

    run(
        new NpyEvaluation.Request(
            careful.expression(),
            careful.inputs(),
            careful.outputs(),
            Map.of(),
            null,
            true,
            options));
    assertThat(ints("z")).containsExactly(1, 2);
  }

  @Test
  void mistakesInNamesAndScalarsLeaveNothing() throws IOException {
    Map<String, Path> x = Map.of("x", NpyFiles.path("int8-little"));
    assertThatThrownBy(() -> run(request("z = x + q", x, Map.of("z", path("z")))))
        .isInstanceOf(ExpressionException.class)
        .hasMessageContaining("q");
    assertThatThrownBy(() -> run(request("z = x", x, Map.of())))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("no result has a file");
    assertThatThrownBy(() -> run(request("z = 1", Map.of(), Map.of("z", path("z")))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("no name is given an array");
    assertThatThrownBy(() -> run(masked("w = x > 0; m = mean(x)", x, Map.of("w", path("w")), "w")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'w' is the mask and goes to no file");
    assertThatThrownBy(() -> run(masked("m = max(x > 0); s = sum(x)", x, Map.of(), "m")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'m' is one value of all elements and can be no mask");
    assertThatThrownBy(
            () ->
                run(
                    new NpyEvaluation.Request(
                        "z = x + a",
                        x,
                        Map.of("z", path("z")),
                        Map.of("a", 1000),
                        null,
                        false,
                        options)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("1000");
    NpyFiles.assertFolderHolds(folder);
  }

  @Test
  void whatFailsOrIsCancelledLeavesNothing() throws IOException {
    int[] values = new int[1_000_000];
    Arrays.setAll(values, i -> i);
    Path x = write("x", NpyType.INT32, false, List.of(1_000_000L), values);
    NpyEvaluation.Request request = request("z = x", Map.of("x", x), Map.of("z", path("z")));
    try (NpyEvaluation evaluation = NpyEvaluation.open(request)) {
      evaluation.cancel();
      assertThatThrownBy(() -> evaluation.run(memory)).isInstanceOf(CancellationException.class);
    }
    NpyFiles.assertFolderHolds(folder, "x.npy");
    try (NpyEvaluation evaluation = NpyEvaluation.open(request);
        var channel = FileChannel.open(x, StandardOpenOption.WRITE)) {
      channel.truncate(2_000_000);
      assertThatThrownBy(() -> evaluation.run(memory))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("x.npy shrank");
    }
    NpyFiles.assertFolderHolds(folder, "x.npy");
  }

  @Test
  void whereOneResultCannotAppearNoneDoes() throws IOException {
    Path x = write("x", NpyType.INT32, false, List.of(3L), new int[] {1, 2, 3});
    NpyEvaluation.Request request =
        request("y = x; z = 2*x", Map.of("x", x), Map.of("y", path("y"), "z", path("z")));
    for (String late : List.of("y", "z")) {
      try (NpyEvaluation evaluation = NpyEvaluation.open(request)) {
        Files.writeString(path(late), "precious");
        assertThatThrownBy(() -> evaluation.run(memory))
            .isInstanceOf(TransferException.class)
            .hasMessageContaining(late + ".npy exists");
      }
      NpyFiles.assertFolderHolds(folder, "x.npy", late + ".npy");
      assertThat(path(late)).hasContent("precious");
      Files.delete(path(late));
    }
  }

  @Test
  void aSelectionNeedsNoMoreRoomThanItTakes() throws Exception {
    int[] values = new int[1_000_000];
    Arrays.setAll(values, i -> i);
    Path x = write("x", NpyType.INT32, false, List.of(1_000_000L), values);
    Path disk = Files.createDirectory(folder.resolve("disk"));
    assumeThat(run("mount", "-t", "tmpfs", "-o", "size=1m", "tidepool-test", disk.toString()))
        .as("only root can mount a small disk")
        .isZero();
    try {
      for (String condition : List.of("x < 1000", "x < 1000000")) {
        NpyEvaluation.Request request =
            new NpyEvaluation.Request(
                "y = 2*x; s = " + condition,
                Map.of("x", x),
                Map.of("y", disk.resolve("y.npy")),
                Map.of(),
                null,
                true,
                options,
                null,
                "s");
        if (condition.equals("x < 1000")) {
          run(request);
        } else {
          assertThatThrownBy(() -> run(request))
              .isInstanceOf(TransferException.class)
              .hasMessageContaining("y.npy: its disk is full");
        }
        NpyFiles.assertFolderHolds(disk, "y.npy");
        assertThat(Files.size(disk.resolve("y.npy"))).isEqualTo(128 + 4 * 1000);
      }
    } finally {
      assertThat(run("umount", disk.toString())).isZero();
    }
  }

  private static int run(String... command) throws IOException, InterruptedException {
    return new ProcessBuilder(command).inheritIO().start().waitFor();
  }

  @Test
  void aMemoryLimitTooSmallSaysWhatWorks() {
    Path x = write("x", NpyType.INT32, false, List.of(100_000L), new int[100_000]);
    NpyEvaluation.Request request =
        new NpyEvaluation.Request(
            "z = x",
            Map.of("x", x),
            Map.of("z", path("z")),
            Map.of(),
            null,
            false,
            options.withMemoryLimit(1000));

    assertThatThrownBy(() -> run(request))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("the least that works is 16384 bytes");
  }

  @Test
  void whereElementsAreTakenInTheirOrderFewChunksAreComputedWhileAnOlderOneStalls() {
    int count = 1 << 20;
    Path x = write("x", NpyType.FLOAT32, false, List.of((long) count), new float[count]);
    AtomicInteger computed = new AtomicInteger();
    AtomicInteger meanwhile = new AtomicInteger();
    PlainMemory plain = new PlainMemory(Long.MAX_VALUE, Capability.SHARED_MEMORY);
    plain.beforeKernels =
        () -> {
          if (computed.getAndIncrement() == 0) {
            for (int before = 0; before != computed.get(); ) {
              before = computed.get();
              LockSupport.parkNanos(200_000_000);
            }
            meanwhile.set(computed.get());
          }
        };
    StreamOptions small = options.withChunkBytes(64 << 10).withLanes(3);
    NpyEvaluation.Request request =
        new NpyEvaluation.Request(
            "y = x; m = x == 0",
            Map.of("x", x),
            Map.of("y", path("y")),
            Map.of(),
            null,
            false,
            small,
            null,
            "m");
    try (NpyEvaluation evaluation = NpyEvaluation.open(request)) {
      evaluation.run(plain.manager());
    }

    assertThat(header("y").shape()).containsExactly((long) count);
    // Of 64.
    assertThat(meanwhile.get()).isBetween(2, 12);
  }
}
