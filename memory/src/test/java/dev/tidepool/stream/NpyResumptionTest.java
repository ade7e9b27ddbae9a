package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.tidepool.AcceleratorException;
import dev.tidepool.Capability;
import dev.tidepool.TransferException;
import dev.tidepool.stream.pipeline.Journal;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NpyResumptionTest {
  private static final int LENGTH = 100_003;

  @TempDir Path folder;
  private Path x;
  private Path y;

  @BeforeEach
  void input() {
    x = folder.resolve("x.npy");
    y = folder.resolve("y.npy");
    write(1);
  }

  private void write(float first) {
    NpyHeader header = NpyHeader.of(NpyType.FLOAT32, false, List.of((long) LENGTH));
    try (NpyWriter writer = NpyWriter.create(x, header, true)) {
      writer.write(0, MemorySegment.ofArray(values(first)));
      writer.commit();
    }
  }

  private static float[] values(float first) {
    float[] values = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      values[i] = first + i;
    }
    return values;
  }

  private NpyEvaluation.Request request(String expression, Map<String, ?> scalars) {
    return new NpyEvaluation.Request(
        expression,
        Map.of("x", x),
        Map.of("y", y),
        scalars,
        null,
        false,
        StreamOptions.defaults().withChunkBytes(16 << 10).withLanes(2));
  }

  private static PlainMemory memory() {
    return new PlainMemory(Long.MAX_VALUE, Capability.SHARED_MEMORY);
  }

  /** Runs until its accelerator breaks, in the middle. */
  private void breakOff(NpyEvaluation.Request request) {
    PlainMemory broken = memory();
    broken.elementsBeforeFailure = LENGTH / 2;
    broken.failure = new AcceleratorException("plainLaunch", -1, "PLAIN_LOST", "it is lost");
    try (NpyEvaluation evaluation = NpyEvaluation.resume(request)) {
      assertThatThrownBy(() -> evaluation.run(broken.manager())).isSameAs(broken.failure);
    }
    assertThat(y).doesNotExist();
  }

  private String complete(NpyEvaluation.Request request, PlainMemory memory) {
    try (NpyEvaluation evaluation = NpyEvaluation.resume(request)) {
      evaluation.run(memory.manager());
      return evaluation.resumption();
    }
  }

  private void assertDoubled(float first) throws IOException {
    float[] expected = values(first);
    for (int i = 0; i < LENGTH; i++) {
      expected[i] *= 2;
    }
    try (NpyReader reader = NpyReader.open(y)) {
      float[] found = new float[LENGTH];
      reader.read(0, MemorySegment.ofArray(found));
      assertThat(Arrays.mismatch(found, expected)).isEqualTo(-1);
    }
    NpyFiles.assertFolderHolds(folder, "x.npy", "y.npy");
  }

  @Test
  void whatIsOnDiskIsNotComputedAgain() throws IOException {
    NpyEvaluation.Request request = request("y = 2*x", Map.of());
    breakOff(request);
    PlainMemory memory = memory();
    String told = complete(request, memory);

    assertThat(memory.computed.get()).isBetween(1L, LENGTH / 2L);
    assertThat(told)
        .isEqualTo(
            "goes on: "
                + (LENGTH - memory.computed.get())
                + " of "
                + LENGTH
                + " elements were done");
    assertDoubled(1);
  }

  @Test
  void afterSeveralBreaksItStillComesToItsEnd() throws IOException {
    NpyEvaluation.Request request = request("y = 2*x", Map.of());
    breakOff(request);
    PlainMemory broken = memory();
    broken.failure = new AcceleratorException("plainLaunch", -1, "PLAIN_LOST", "it is lost");
    broken.elementsBeforeFailure = LENGTH / 4;
    try (NpyEvaluation evaluation = NpyEvaluation.resume(request)) {
      assertThatThrownBy(() -> evaluation.run(broken.manager())).isSameAs(broken.failure);
    }
    PlainMemory memory = memory();
    assertThat(complete(request, memory)).startsWith("goes on");

    assertThat(memory.computed.get()).isLessThanOrEqualTo(LENGTH / 4);
    assertDoubled(1);
  }

  @Test
  void withChangedInputsItStartsAgainAndSaysSo() throws IOException {
    NpyEvaluation.Request request = request("y = 2*x", Map.of());
    breakOff(request);
    write(5);
    Files.setLastModifiedTime(x, FileTime.fromMillis(1_000_000));
    PlainMemory memory = memory();

    assertThat(complete(request, memory)).isEqualTo("starts again: " + x + " has changed");
    assertThat(memory.computed).hasValue(LENGTH);
    assertDoubled(5);
  }

  @Test
  void withAnotherExpressionOrScalarItStartsAgainAndSaysSo() throws IOException {
    breakOff(request("y = 3*x", Map.of()));
    breakOff(request("y = a*x", Map.of("a", 3)));
    PlainMemory memory = memory();

    assertThat(complete(request("y = a*x", Map.of("a", 2)), memory))
        .isEqualTo("starts again: the scalar 'a' has changed");
    assertThat(memory.computed).hasValue(LENGTH);
    assertDoubled(1);
  }

  @Test
  void withoutWhatWasWrittenItStartsAgainAndSaysSo() throws IOException {
    NpyEvaluation.Request request = request("y = 2*x", Map.of());
    breakOff(request);
    try (var files = Files.newDirectoryStream(folder, "*.partial")) {
      for (Path file : files) {
        Files.delete(file);
      }
    }

    assertThat(complete(request, memory()))
        .isEqualTo("starts again: what was written before is gone");
    assertDoubled(1);
  }

  @Test
  void whatCannotBeBegunLeavesNothing() throws IOException {
    Files.createFile(y);

    assertThatThrownBy(() -> NpyEvaluation.resume(request("y = 2*x", Map.of())))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("y.npy exists");
    NpyFiles.assertFolderHolds(folder, "x.npy", "y.npy");
  }

  @Test
  void aFirstRunTellsNothing() throws IOException {
    assertThat(complete(request("y = 2*x", Map.of()), memory())).isEmpty();
    assertDoubled(1);
  }

  @Test
  void aRunThatIsCompleteHasNothingToResume() throws IOException {
    NpyEvaluation.Request request = request("y = 2*x", Map.of());
    complete(request, memory());

    assertThatThrownBy(() -> NpyEvaluation.resume(request))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("no unfinished run to resume: if this work made it, it is complete");
    NpyFiles.assertFolderHolds(folder, "x.npy", "y.npy");
  }

  @Test
  void twoRunsAreNotAtTheSameResult() {
    NpyEvaluation.Request request = request("y = 2*x", Map.of());
    try (NpyEvaluation first = NpyEvaluation.resume(request)) {
      assertThat(first.resumption()).isEmpty();
      assertThatThrownBy(() -> NpyEvaluation.resume(request))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("another run works on the same result");
    }
  }

  @Test
  void aReductionHasNothingToGoOnFrom() {
    NpyEvaluation.Request request =
        new NpyEvaluation.Request(
            "s = sum(x)",
            Map.of("x", x),
            Map.of(),
            Map.of(),
            null,
            false,
            StreamOptions.defaults());

    assertThatThrownBy(() -> NpyEvaluation.resume(request))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("leaves nothing on disk");
  }

  private Path partial() throws IOException {
    try (var files = Files.newDirectoryStream(folder, "*.partial")) {
      return files.iterator().next();
    }
  }

  @Test
  void aHeaderThatNeverReachedTheDiskIsWrittenAgain() throws IOException {
    NpyEvaluation.Request request = request("y = 2*x", Map.of());
    breakOff(request);
    try (FileChannel file = FileChannel.open(partial(), StandardOpenOption.WRITE)) {
      assertThat(file.write(ByteBuffer.allocate(128), 0)).isEqualTo(128);
    }

    assertThat(complete(request, memory())).startsWith("goes on");
    assertDoubled(1);
  }

  private NpyEvaluation.Request difference(Path a, Path b) {
    return new NpyEvaluation.Request(
        "y = a - 3*b",
        Map.of("a", a, "b", b),
        Map.of("y", y),
        Map.of(),
        null,
        false,
        StreamOptions.defaults().withChunkBytes(16 << 10).withLanes(2));
  }

  @Test
  void withInputsThatChangedPlacesItStartsAgain() throws IOException {
    Path other = Files.copy(x, folder.resolve("other.npy"));
    breakOff(difference(x, other));
    PlainMemory memory = memory();

    assertThat(complete(difference(other, x), memory)).startsWith("starts again");
    assertThat(memory.computed).hasValue(LENGTH);
  }

  @Test
  void withAnotherFileOfTheSameSizeAndTimeItStartsAgain() throws IOException {
    assumeThat(Files.readAttributes(x, BasicFileAttributes.class).fileKey()).isNotNull();
    NpyEvaluation.Request request = request("y = 2*x", Map.of());
    breakOff(request);
    Path copy = Files.copy(x, folder.resolve("copy"), StandardCopyOption.COPY_ATTRIBUTES);
    Files.move(copy, x, StandardCopyOption.REPLACE_EXISTING);

    assertThat(complete(request, memory())).isEqualTo("starts again: " + x + " has changed");
    assertDoubled(1);
  }

  @Test
  void whereOneOfTheFilesIsGoneTheOthersGoToo() throws IOException {
    Path z = folder.resolve("z.npy");
    NpyEvaluation.Request request =
        new NpyEvaluation.Request(
            "y = 2*x; z = 3*x",
            Map.of("x", x),
            Map.of("y", y, "z", z),
            Map.of(),
            null,
            false,
            StreamOptions.defaults().withChunkBytes(16 << 10).withLanes(2));
    breakOff(request);
    boolean besideY = Files.exists(folder.resolve(".y.npy.tidepool-journal"));
    try (Journal journal = Journal.open(besideY ? y : z)) {
      Files.delete(folder.resolve(journal.noted(besideY ? "z" : "y")));
    }

    assertThat(complete(request, memory()))
        .isEqualTo("starts again: what was written before is gone");
    NpyFiles.assertFolderHolds(folder, "x.npy", "y.npy", "z.npy");
  }

  @Test
  void theSameBitsAreNotPromisedWhereAnotherAcceleratorMayGoOn() throws IOException {
    StreamOptions options = StreamOptions.defaults().withDeterministic();
    for (String expression : List.of("y = exp(x)", "y = 2*x")) {
      NpyEvaluation.Request request =
          new NpyEvaluation.Request(
              expression, Map.of("x", x), Map.of("y", y), Map.of(), null, false, options);
      if (expression.contains("exp")) {
        assertThatThrownBy(() -> NpyEvaluation.resume(request))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("cannot be resumed with the same bits");
        NpyFiles.assertFolderHolds(folder, "x.npy");
      } else {
        assertThat(complete(request, memory())).isEmpty();
      }
    }
    assertDoubled(1);
  }
}
