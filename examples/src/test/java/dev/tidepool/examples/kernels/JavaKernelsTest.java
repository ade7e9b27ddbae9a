package dev.tidepool.examples.kernels;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.tidepool.Accelerator;
import dev.tidepool.Capability;
import dev.tidepool.KernelCompilationException;
import dev.tidepool.MemoryOptions;
import dev.tidepool.Tidepool;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.testkit.cuda.SimulatedCuda;
import dev.tidepool.testkit.metal.SimulatedMetal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every kernel of the package on every kind of accelerator, with sizes that are and are not
 * multiples of its groups. All but the functions of {@code Math} are the same to the last bit.
 * Metal has no doubles, and refuses the kernel with arrays of them.
 */
@DisplayName("The kernels written as Java methods")
class JavaKernelsTest {
  private static final Map<String, Check> KERNELS = new TreeMap<>();

  static {
    KERNELS.put("DotProduct", JavaKernelsTest::dotProduct);
    KERNELS.put("TiledProduct", JavaKernelsTest::tiledProduct);
    KERNELS.put("Transposition", JavaKernelsTest::transposition);
    KERNELS.put("Blur", JavaKernelsTest::blur);
    KERNELS.put("ChannelPlanes", JavaKernelsTest::channelPlanes);
    KERNELS.put("Histogram", JavaKernelsTest::histogram);
    KERNELS.put("PrefixSum", JavaKernelsTest::prefixSum);
    KERNELS.put("NBody", JavaKernelsTest::bodies);
    KERNELS.put("Mandelbrot", JavaKernelsTest::mandelbrot);
    KERNELS.put("KMeans", JavaKernelsTest::means);
    KERNELS.put("BlackScholes", JavaKernelsTest::blackScholes);
    KERNELS.put("RunLengths", JavaKernelsTest::runLengths);
    KERNELS.put("SemanticSearch", JavaKernelsTest::semanticSearch);
  }

  /** Sizes around those of groups. */
  private static final int[] LENGTHS = {1, 2, 127, 128, 255, 256, 257, 1000, 70_001};

  @TempDir static Path cache;

  private static Tidepool tidepool;

  /** Compares a kernel with plain Java. */
  interface Check {
    void on(UnifiedMemoryManager memory);
  }

  @BeforeAll
  static void open() {
    // On a card the driver is the machine's.
    if (!Boolean.getBoolean("tidepool.test.card")) {
      SimulatedCuda.find()
          .ifPresent(
              simulated -> {
                System.setProperty("tidepool.cuda.library", simulated.driver().toString());
                System.setProperty("tidepool.nvrtc", simulated.compiler().toString());
                System.setProperty("tidepool.cuda.cache", cache.toString());
              });
    }
    SimulatedMetal.find()
        .ifPresent(
            simulated ->
                System.setProperty("tidepool.metal.library", simulated.library().toString()));
    tidepool = Tidepool.open(MemoryOptions.builder().cacheDirectory(cache).build());
    tidepool.orchestrator().register(KMeans.class);
  }

  @AfterAll
  static void close() {
    tidepool.close();
  }

  static Stream<Arguments> kernelsOnAccelerators() {
    return Stream.of("cpu", "opencl", "cuda", "metal")
        .flatMap(kind -> KERNELS.keySet().stream().map(kernel -> Arguments.of(kernel, kind)));
  }

  @ParameterizedTest(name = "{0} on {1}")
  @MethodSource("kernelsOnAccelerators")
  void compute_what_plain_Java_computes(String kernel, String kind) {
    KERNELS.get(kernel).on(memory(kind));
  }

  @Test
  void are_all_here() throws IOException {
    Path module = Files.isDirectory(Path.of("examples")) ? Path.of("examples") : Path.of("");
    try (Stream<Path> files =
        Files.list(module.resolve("src/main/java/dev/tidepool/examples/kernels"))) {
      assertThat(files.map(file -> file.getFileName().toString().replace(".java", "")))
          .filteredOn(name -> !name.equals("package-info"))
          .containsExactlyInAnyOrderElementsOf(KERNELS.keySet());
    }
  }

  /** The first accelerator of a kind. Skips the test without it, and fails where CI promised it. */
  private static UnifiedMemoryManager memory(String kind) {
    Optional<Accelerator> found =
        tidepool.accelerators().stream()
            .filter(accelerator -> accelerator.id().startsWith(kind + ":"))
            .findFirst();
    if (found.isEmpty()) {
      String message = "NO " + kind + " ACCELERATOR: " + tidepool.notes();
      assertTrue(!"true".equals(System.getenv("CI")), message);
      System.err.println(message);
      abort(message);
    }
    return tidepool.memory(found.get());
  }

  private static float[] floats(int length, long seed) {
    Random random = new Random(seed);
    float[] values = new float[length];
    for (int i = 0; i < length; i++) {
      values[i] = random.nextFloat() - 0.5f;
    }
    return values;
  }

  private static byte[] bytes(int length, long seed) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private static void dotProduct(UnifiedMemoryManager memory) {
    for (int dimensions : new int[] {1, 7, 128}) {
      float[] rows = floats(301 * dimensions, 1);
      float[] query = floats(dimensions, 2);
      float[] other = floats(dimensions, 3);
      assertThat(DotProduct.scores(memory, rows, query, other))
          .isDeepEqualTo(
              new float[][] {DotProduct.plain(rows, query), DotProduct.plain(rows, other)});
    }
  }

  private static void tiledProduct(UnifiedMemoryManager memory) {
    for (int[] size : new int[][] {{1, 1, 1}, {16, 32, 16}, {17, 5, 40}, {50, 33, 15}}) {
      float[] a = floats(size[0] * size[1], 1);
      float[] b = floats(size[1] * size[2], 2);
      assertThat(TiledProduct.computed(memory, size[0], size[1], size[2], a, b))
          .isEqualTo(TiledProduct.plain(size[0], size[1], size[2], a, b));
    }
  }

  private static void transposition(UnifiedMemoryManager memory) {
    if (!memory.accelerator().capabilities().contains(Capability.FLOAT64)) {
      assertThatThrownBy(() -> Transposition.transposed(memory, "direct", 1, 1, new double[1]))
          .isInstanceOf(KernelCompilationException.class)
          .hasMessageContaining("64-bit floating point");
      return;
    }
    for (int[] size : new int[][] {{1, 1}, {16, 32}, {100, 3}, {31, 150}}) {
      double[] in = new Random(1).doubles((long) size[0] * size[1]).toArray();
      for (String kernel : new String[] {"direct", "tiled"}) {
        assertThat(Transposition.transposed(memory, kernel, size[0], size[1], in))
            .isEqualTo(Transposition.plain(size[0], size[1], in));
      }
    }
  }

  private static void blur(UnifiedMemoryManager memory) {
    for (int[] size : new int[][] {{1, 1}, {2, 1}, {1, 9}, {3, 3}, {101, 67}}) {
      float[] image = floats(size[0] * size[1], 1);
      assertThat(Blur.blurred(memory, size[0], size[1], image))
          .isEqualTo(Blur.plain(size[0], size[1], image));
    }
  }

  private static void channelPlanes(UnifiedMemoryManager memory) {
    float[] mean = {0.485f, 0.456f, 0.406f};
    float[] deviation = {0.229f, 0.224f, 0.225f};
    for (int[] size : new int[][] {{1, 1}, {37, 21}, {128, 64}}) {
      byte[] pixels = bytes(size[0] * size[1] * 3, 1);
      assertThat(ChannelPlanes.computed(memory, size[0], size[1], pixels, mean, deviation))
          .isEqualTo(ChannelPlanes.plain(pixels, mean, deviation));
    }
  }

  private static void histogram(UnifiedMemoryManager memory) {
    for (int length : LENGTHS) {
      byte[] values = bytes(length, 1);
      assertThat(Histogram.counts(memory, values)).isEqualTo(Histogram.plain(values));
    }
    byte[] same = new byte[10_000];
    assertThat(Histogram.counts(memory, same)).startsWith(10_000, 0);
  }

  private static void prefixSum(UnifiedMemoryManager memory) {
    for (int length : LENGTHS) {
      int[] values = new Random(1).ints(length).toArray();
      assertThat(PrefixSum.sums(memory, values)).isEqualTo(PrefixSum.plain(values));
    }
  }

  private static void bodies(UnifiedMemoryManager memory) {
    for (int count : new int[] {1, 2, 100}) {
      for (int steps : new int[] {1, 4}) {
        float[] bodies = floats(4 * count, 1);
        assertThat(NBody.moved(memory, steps, bodies)).isEqualTo(NBody.plain(steps, bodies));
      }
    }
  }

  private static void mandelbrot(UnifiedMemoryManager memory) {
    assertThat(Mandelbrot.steps(memory, 160, 121)).isEqualTo(Mandelbrot.plain(160, 121));
  }

  private static void means(UnifiedMemoryManager memory) {
    for (int centres : new int[] {1, 2, 16}) {
      byte[] colours = bytes(3 * 5000, 1);
      int[] before = new Random(2).ints(3L * centres, 0, 256).toArray();
      before[0] = 1_000; // so far away that it may have no colours
      assertThat(KMeans.step(tidepool.orchestrator(), memory, colours, before))
          .isEqualTo(KMeans.plain(colours, before));
    }
  }

  private static void blackScholes(UnifiedMemoryManager memory) {
    int length = 20_000;
    float[] spots = BlackScholes.random(length, 1, 5, 100);
    float[] strikes = BlackScholes.random(length, 2, 5, 100);
    float[] years = BlackScholes.random(length, 3, 0.1f, 10);
    float[][] prices = BlackScholes.computed(memory, spots, strikes, years);
    assertThat(BlackScholes.error(prices, spots, strikes, years)).isLessThan(1e-6);
  }

  private static void runLengths(UnifiedMemoryManager memory) {
    for (int length : LENGTHS) {
      byte[] data = RunLengths.data(length);
      RunLengths.Runs runs = RunLengths.encoded(memory, data);
      RunLengths.Runs plain = RunLengths.plain(data);
      assertThat(runs.values()).isEqualTo(plain.values());
      assertThat(runs.lengths()).isEqualTo(plain.lengths());
    }
  }

  private static void semanticSearch(UnifiedMemoryManager memory) {
    int dimensions = 24;
    float[][] queries = new float[11][];
    for (int q = 0; q < queries.length; q++) {
      queries[q] = floats(dimensions, 2 + q);
    }
    for (int count : new int[] {1, 9, 256, 257, 3000}) {
      float[] vectors = floats(count * dimensions, 1);
      // Equal vectors have equal scores, within a part and between two.
      System.arraycopy(vectors, 0, vectors, count / 2 * dimensions, dimensions);
      System.arraycopy(vectors, 0, vectors, (count - 1) * dimensions, dimensions);
      try (SemanticSearch search = new SemanticSearch(memory, dimensions, vectors)) {
        for (int batch : new int[] {1, 8, 11}) {
          float[][] some = Arrays.copyOf(queries, batch);
          assertThat(search.best(some))
              .isEqualTo(
                  Stream.of(some).map(query -> SemanticSearch.plain(vectors, query)).toList());
        }
      }
    }
  }
}
