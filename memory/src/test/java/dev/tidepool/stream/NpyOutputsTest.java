package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.stream.chunk.ChunkScheduler.Range;
import dev.tidepool.stream.pipeline.Journal;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A run that ends while its results are put in their places. */
class NpyOutputsTest {
  private static final NpyHeader HEADER = NpyHeader.of(NpyType.FLOAT32, false, List.of(3L));
  private static final List<Journal.Trait> WORK =
      List.of(new Journal.Trait("the expression", "y = x; z = x"));

  @TempDir Path folder;

  private NpyOutputs resume(boolean overwrite) {
    Map<String, NpyOutputs.Target> targets = new LinkedHashMap<>();
    for (String name : List.of("y", "z")) {
      Path file = folder.resolve(name + ".npy");
      targets.put(name, new NpyOutputs.Target(file, HEADER, overwrite, false));
    }
    return NpyOutputs.resume(targets, WORK);
  }

  private static void write(NpyOutputs outputs) {
    outputs.writers().get("y").write(0, MemorySegment.ofArray(new float[] {1, 2, 3}));
    outputs.writers().get("z").write(0, MemorySegment.ofArray(new float[] {4, 5, 6}));
    outputs.written(new Range(0, 3));
  }

  private float[] read(String name) {
    float[] values = new float[3];
    try (NpyReader reader = NpyReader.open(folder.resolve(name + ".npy"))) {
      reader.read(0, MemorySegment.ofArray(values));
    }
    return values;
  }

  private void assertBothAreInPlace() throws IOException {
    assertThat(read("y")).containsExactly(1, 2, 3);
    assertThat(read("z")).containsExactly(4, 5, 6);
    NpyFiles.assertFolderHolds(folder, "y.npy", "z.npy");
  }

  /** Leaves what a process leaves that is killed behind the first file. */
  private void endBehindTheFirst(boolean overwrite) {
    try (NpyOutputs outputs = resume(overwrite)) {
      write(outputs);
      outputs.prepare();
      outputs.writers().get("y").commit();
    }
    assertThat(folder.resolve("y.npy")).exists();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theNextRunPutsTheOthersInTheirPlaces(boolean overwrite) throws IOException {
    if (overwrite) {
      Files.writeString(folder.resolve("y.npy"), "before");
      Files.writeString(folder.resolve("z.npy"), "before");
    }
    endBehindTheFirst(overwrite);
    try (NpyOutputs outputs = resume(overwrite)) {
      assertThat(outputs.left(3)).isEmpty();
      assertThat(outputs.resumption()).isEqualTo("goes on: 3 of 3 elements were done");
      outputs.commit();
    }
    assertBothAreInPlace();
  }

  @Test
  void whereTheFirstStillHasItsHiddenNameTooTheNextRunGoesOn() throws IOException {
    List<Path> hidden;
    try (NpyOutputs outputs = resume(false)) {
      write(outputs);
      outputs.prepare();
      hidden = partials();
      outputs.writers().get("y").commit();
      hidden.removeAll(partials());
    }
    Files.createLink(hidden.getFirst(), folder.resolve("y.npy"));
    try (NpyOutputs outputs = resume(false)) {
      assertThat(outputs.left(3)).isEmpty();
      outputs.commit();
    }
    assertBothAreInPlace();
  }

  private List<Path> partials() throws IOException {
    List<Path> partials = new ArrayList<>();
    try (var files = Files.newDirectoryStream(folder, ".tidepool-*.partial")) {
      files.forEach(partials::add);
    }
    return partials;
  }

  @Test
  void aSecondEndChangesNothing() throws IOException {
    endBehindTheFirst(false);
    try (NpyOutputs outputs = resume(false)) {
      outputs.prepare();
      outputs.writers().get("z").commit();
    }
    assertThat(folder.resolve("y.npy")).doesNotExist();
    try (NpyOutputs outputs = resume(false)) {
      assertThat(outputs.left(3)).isEmpty();
      outputs.commit();
    }
    assertBothAreInPlace();
  }

  @Test
  void aFileThatWasChangedSinceIsNotTaken() throws IOException {
    endBehindTheFirst(true);
    Files.writeString(folder.resolve("y.npy"), "of somebody else");
    try (NpyOutputs outputs = resume(true)) {
      assertThat(outputs.resumption()).isEqualTo("starts again: what was written before is gone");
      assertThat(folder.resolve("y.npy")).hasContent("of somebody else");
    }
  }

  @Test
  void whereTheSecondCannotBeBegunNothingOfTheFirstIsLeft() throws IOException {
    Files.writeString(folder.resolve("z.npy"), "of somebody else");
    assertThatThrownBy(() -> resume(false)).hasMessageContaining("z.npy");
    NpyFiles.assertFolderHolds(folder, "z.npy");
  }
}
