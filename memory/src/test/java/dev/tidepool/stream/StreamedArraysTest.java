package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A stream of arrays goes wherever the results of files and buffers go. */
class StreamedArraysTest {
  private static final int LENGTH = 700_001;

  /** So little that the stream comes in three parts. */
  private static final StreamOptions SMALL =
      StreamOptions.defaults().withChunkBytes(64 << 10).withMemoryLimit(1 << 20);

  @TempDir Path folder;
  private final UnifiedMemoryManager memory = UnifiedMemoryManager.create();

  @AfterEach
  void noBufferIsLeftOpen() {
    assertThat(memory.buffers()).isEmpty();
    memory.close();
  }

  private static float[] values() {
    float[] values = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      values[i] = (i % 1013) * 0.37f;
    }
    return values;
  }

  /** The values in arrays of all lengths, none included. */
  private static Stream<float[]> arrays() {
    float[] values = values();
    List<float[]> arrays = new ArrayList<>();
    int at = 0;
    for (int i = 0; at < LENGTH; i++) {
      int count = Math.min(LENGTH - at, i % 5 == 0 ? 0 : i * i % 50_021);
      arrays.add(Arrays.copyOfRange(values, at, at + count));
      at += count;
    }
    return arrays.stream();
  }

  private static float[] expected() {
    float[] expected = values();
    for (int i = 0; i < LENGTH; i++) {
      expected[i] += 1;
    }
    return expected;
  }

  private float[] floats(String name) {
    try (NpyReader reader = NpyReader.open(folder.resolve(name))) {
      float[] values = new float[(int) reader.length()];
      reader.read(0, MemorySegment.ofArray(values));
      return values;
    }
  }

  @Test
  void toABufferThatHasTheLengthOfTheStream() {
    try (UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, LENGTH)) {
      Object most =
          Pipeline.from("x", ElementType.FLOAT, arrays())
              .through("y = x + 1; most = max(x)")
              .to("y", y)
              .on(memory)
              .run(SMALL)
              .values()
              .get("most");
      float[] found = new float[LENGTH];
      y.copyTo(found);
      assertThat(Arrays.mismatch(found, expected())).isNegative();
      assertThat(most).isEqualTo(1012 * 0.37f);
    }
  }

  @Test
  void toFilesAndReductionsAsABufferDoes() {
    Pipeline.Outcome streamed =
        Pipeline.from("x", ElementType.FLOAT, arrays(), LENGTH)
            .through("y = x + 1; total = sum(x); m = mean(x)")
            .to("y", folder.resolve("y.npy"))
            .on(memory)
            .run(SMALL);
    assertThat(Arrays.mismatch(floats("y.npy"), expected())).isNegative();
    try (UnifiedBuffer<float[]> x = memory.copyOf(values())) {
      Pipeline.Outcome whole =
          Pipeline.from("x", x).through("total = sum(x); m = mean(x)").on(memory).run(SMALL);
      assertThat(streamed.values()).as("the same bits").isEqualTo(whole.values());
    }
  }

  @Test
  void aCancelledStreamTellsHowFarItCame() {
    Pipeline pipeline =
        Pipeline.from("x", ElementType.FLOAT, Stream.generate(() -> new float[1 << 18]))
            .through("y = x + 1")
            .on(memory);
    pipeline.to(
        "y",
        ElementType.FLOAT,
        (start, _) -> {
          if (start >= 3 << 18) {
            pipeline.cancel();
          }
        });
    assertThatThrownBy(() -> pipeline.run(SMALL))
        .isInstanceOf(CancellationException.class)
        .hasMessage("cancelled between elements 786432 and 1048576 of the stream 'x'");
  }

  @Test
  void aStreamWithoutArraysIsCancelledToo() {
    Pipeline pipeline =
        Pipeline.from("x", ElementType.FLOAT, Stream.<float[]>empty())
            .through("y = x + 1")
            .to("y", ElementType.FLOAT, (_, _) -> {})
            .on(memory);
    pipeline.cancel();
    assertThatThrownBy(() -> pipeline.run(SMALL)).isInstanceOf(CancellationException.class);
  }

  @Test
  void aStreamOfAnotherLengthThanItsResultsIsRefusedAndLeavesNoFile() throws IOException {
    for (long told : new long[] {LENGTH - 1, LENGTH + 1, 10, 0}) {
      Pipeline pipeline =
          Pipeline.from("x", ElementType.FLOAT, arrays(), told)
              .through("y = x + 1")
              .to("y", folder.resolve("y.npy"))
              .on(memory);
      assertThatThrownBy(() -> pipeline.run(SMALL))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("the stream 'x' has")
          .hasMessageEndingWith("elements, but its results " + told);
    }
    NpyFiles.assertFolderHolds(folder);
    try (UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, LENGTH)) {
      assertThatThrownBy(
              () ->
                  Pipeline.from("x", ElementType.FLOAT, arrays(), 7)
                      .through("y = x")
                      .to("y", y)
                      .on(memory)
                      .run(SMALL))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("'y' has " + LENGTH + " elements");
    }
    assertThatThrownBy(() -> Pipeline.from("x", ElementType.FLOAT, arrays(), -1))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aStreamOfNothingMakesAnEmptyFile() {
    Pipeline.from("x", ElementType.FLOAT, Stream.of(), 0)
        .through("y = x + 1")
        .to("y", folder.resolve("y.npy"))
        .on(memory)
        .run(SMALL);
    assertThat(floats("y.npy")).isEmpty();
  }

  @Test
  void whoHearsHowFarItIsHearsOfTheWholeStream() {
    List<Long> done = new ArrayList<>();
    List<Long> totals = new ArrayList<>();
    try (UnifiedBuffer<float[]> y = memory.allocate(ElementType.FLOAT, LENGTH)) {
      Pipeline.from("x", ElementType.FLOAT, arrays())
          .through("y = x + 1")
          .to("y", y)
          .on(memory)
          .run(
              SMALL.withProgress(
                  (bytes, total) -> {
                    done.add(bytes);
                    totals.add(total);
                  }));
    }
    assertThat(done).isSorted().endsWith(8L * LENGTH);
    assertThat(totals).containsOnly(8L * LENGTH);
  }

  @Test
  void aSecondRunIsAnErrorAndLeavesWhatTheFirstOneMade() {
    Path file = folder.resolve("once.npy");
    Pipeline pipeline =
        Pipeline.from("x", ElementType.FLOAT, arrays(), LENGTH)
            .through("y = x + 1")
            .to("y", file)
            .overwriting()
            .on(memory);
    pipeline.run(SMALL);

    assertThatThrownBy(() -> pipeline.run(SMALL))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("'x' was read by an earlier run");
    assertThat(floats("once.npy")).isEqualTo(expected());
  }
}
