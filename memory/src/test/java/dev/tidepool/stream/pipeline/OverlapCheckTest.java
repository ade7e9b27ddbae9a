package dev.tidepool.stream.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.ElementType;
import dev.tidepool.MapMode;
import dev.tidepool.UnifiedBuffer;
import dev.tidepool.UnifiedMemoryManager;
import dev.tidepool.stream.NpyHeader;
import dev.tidepool.stream.NpyReader;
import dev.tidepool.stream.NpyType;
import dev.tidepool.stream.NpyWriter;
import dev.tidepool.stream.Pipeline;
import dev.tidepool.stream.StreamOptions;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Buffers that a pipeline reads and writes may be the same, and else have nothing in common. */
class OverlapCheckTest {
  private static final int LENGTH = 50_000;
  private static final StreamOptions SMALL = StreamOptions.defaults().withChunkBytes(16 << 10);

  @TempDir Path folder;
  private final UnifiedMemoryManager memory = UnifiedMemoryManager.create();
  private final int[] values = IntStream.range(0, LENGTH).toArray();

  @AfterEach
  void noBufferIsLeftOpen() {
    assertThat(memory.buffers()).isEmpty();
    memory.close();
  }

  private Pipeline doubling(UnifiedBuffer<?> x, UnifiedBuffer<?> y) {
    return Pipeline.from("x", x).through("y = 2*x").to("y", y).on(memory);
  }

  private static void assertRefused(Pipeline pipeline, String message) {
    assertThatThrownBy(() -> pipeline.run(SMALL))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }

  private static void assertDoubled(UnifiedBuffer<int[]> buffer) {
    int[] found = new int[LENGTH];
    buffer.copyTo(found);
    assertThat(found).isEqualTo(IntStream.range(0, LENGTH).map(i -> 2 * i).toArray());
  }

  @Test
  void anotherPartOfWhatIsReadIsRefusedBeforeAnythingBegins() {
    Path file = folder.resolve("z.npy");
    try (UnifiedBuffer<int[]> all = memory.copyOf(values)) {
      UnifiedBuffer<int[]> front = all.slice(0, LENGTH - 1);
      UnifiedBuffer<int[]> back = all.slice(1, LENGTH - 1);
      String message = "to bytes 4 to 200000 and 0 to 199996 of one memory";
      assertRefused(
          doubling(front, back).through("z = x").to("z", file),
          "'y' is written over elements of 'x' that are still to be read, " + message);
      assertThat(file).doesNotExist();
      assertRefused(doubling(back, front), "'y' is written over elements of 'x'");
      int[] found = new int[LENGTH];
      all.copyTo(found);
      assertThat(found).isEqualTo(values);
    }
  }

  @Test
  void theVeryPartThatIsReadIsUpdatedUnderAnyName() {
    try (UnifiedBuffer<int[]> x = memory.copyOf(values)) {
      doubling(x.slice(0, LENGTH), x.slice(0, LENGTH)).run(SMALL);
      assertDoubled(x);
    }
  }

  @Test
  void partsThatOnlyTouchAreApart() {
    try (UnifiedBuffer<int[]> both = memory.allocate(ElementType.INT, 2 * LENGTH)) {
      both.slice(0, LENGTH).copyFrom(values);
      doubling(both.slice(0, LENGTH), both.slice(LENGTH, LENGTH)).run(SMALL);
      assertDoubled(both.slice(LENGTH, LENGTH));
    }
  }

  @Test
  void twoResultsOverEachOtherAreRefused() {
    try (UnifiedBuffer<int[]> x = memory.copyOf(values);
        UnifiedBuffer<int[]> results = memory.allocate(ElementType.INT, LENGTH + 1)) {
      UnifiedBuffer<int[]> front = results.slice(0, LENGTH);
      for (long offset = 0; offset < 2; offset++) {
        assertRefused(
            doubling(x, front).through("z = x").to("z", results.slice(offset, LENGTH)),
            "'y' and 'z' are written over each other");
      }
      Pipeline stream =
          Pipeline.from("x", ElementType.INT, List.of(values).stream())
              .through("y = 2*x; z = x")
              .to("y", front)
              .to("z", results.slice(1, LENGTH))
              .on(memory);
      assertRefused(stream, "'y' and 'z' are written over each other");
      assertRefused(stream, "'y' and 'z' are written over each other");
    }
  }

  @Test
  void twoBuffersOverTheSameMemoryAreKnown() {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment bytes = arena.allocate(4L * (LENGTH + 1), 64);
      MemorySegment.copy(values, 0, bytes, ValueLayout.JAVA_INT, 0, LENGTH);
      try (UnifiedBuffer<int[]> front = memory.wrap(ElementType.INT, part(bytes, 0));
          UnifiedBuffer<int[]> same = memory.wrap(ElementType.INT, part(bytes, 0));
          UnifiedBuffer<int[]> back = memory.wrap(ElementType.INT, part(bytes, 4))) {
        assertRefused(doubling(front, back), "'y' is written over elements of 'x'");
        doubling(front, same).run(SMALL);
        assertDoubled(front);
      }
    }
  }

  private static MemorySegment part(MemorySegment bytes, long from) {
    return bytes.asSlice(from, 4L * LENGTH);
  }

  @Test
  void twoBuffersOverTheSameFileAreKnown() throws IOException {
    Path file = folder.resolve("bytes");
    Files.write(file, new byte[4 * (LENGTH + 1)]);
    Path link = Files.createSymbolicLink(folder.resolve("link"), file);
    try (UnifiedBuffer<int[]> one = memory.map(file, ElementType.INT, MapMode.READ_WRITE);
        UnifiedBuffer<int[]> other = memory.map(link, ElementType.INT, MapMode.READ_WRITE)) {
      one.slice(0, LENGTH).copyFrom(values);
      assertRefused(
          doubling(one.slice(0, LENGTH), other.slice(1, LENGTH)),
          "'y' is written over elements of 'x'");
      doubling(one.slice(0, LENGTH), other.slice(0, LENGTH)).run(SMALL);
      assertDoubled(one.slice(0, LENGTH));
    }
  }

  /** Runs with the elements of a file as x, and its bytes from {@code offset} on as y. */
  private void withFile(NpyHeader header, long offset, Consumer<Pipeline> run) {
    Path file = folder.resolve("x.npy");
    try (NpyWriter writer = NpyWriter.create(file, header, true)) {
      writer.write(0, MemorySegment.ofArray(values));
      writer.commit();
    }
    try (UnifiedBuffer<byte[]> bytes = memory.map(file, ElementType.BYTE, MapMode.READ_WRITE)) {
      UnifiedBuffer<int[]> y = bytes.slice(offset, 4L * LENGTH).as(ElementType.INT);
      run.accept(Pipeline.from("x", file).through("y = 2*x").to("y", y).on(memory));
    }
  }

  @Test
  void aFileIsUpdatedWhereItIsMappedAndNowhereElse() throws IOException {
    NpyHeader header = NpyHeader.of(NpyType.INT32, false, List.of((long) LENGTH));
    long data = header.dataOffset();
    withFile(
        header,
        data - 8,
        pipeline -> assertRefused(pipeline, "'y' is written over elements of 'x'"));
    withFile(header, data, pipeline -> pipeline.run(SMALL));
    MemorySegment found = MemorySegment.ofArray(Files.readAllBytes(folder.resolve("x.npy")));
    ValueLayout.OfInt layout = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.nativeOrder());
    for (int i = 0; i < LENGTH; i++) {
      assertThat(found.get(layout, data + 4L * i)).isEqualTo(2 * i);
    }
  }

  @EnabledOnOs({OS.LINUX, OS.MAC})
  @Test
  void aFileThatLostItsNameIsReadAllTheSameAndStillKnown() throws IOException {
    Path file = folder.resolve("x.npy");
    NpyHeader header = NpyHeader.of(NpyType.INT32, false, List.of((long) LENGTH));
    try (NpyWriter writer = NpyWriter.create(file, header, false)) {
      writer.write(0, MemorySegment.ofArray(values));
      writer.commit();
    }
    try (NpyReader x = NpyReader.open(file);
        UnifiedBuffer<byte[]> bytes = memory.map(file, ElementType.BYTE, MapMode.READ_WRITE);
        UnifiedBuffer<int[]> y = memory.allocate(ElementType.INT, LENGTH)) {
      Files.delete(file);
      Pipeline.from("x", x).through("y = 2*x").to("y", y).on(memory).run(SMALL);
      assertDoubled(y);
      UnifiedBuffer<int[]> before =
          bytes.slice(header.dataOffset() - 8, 4L * LENGTH).as(ElementType.INT);
      assertRefused(
          Pipeline.from("x", x).through("y = 2*x").to("y", before).on(memory),
          "'y' is written over elements of 'x'");
    }
  }

  @Test
  void aFileThatIsTurnedWhileItIsReadIsNotUpdated() {
    NpyHeader turned = NpyHeader.of(NpyType.INT32, true, List.of(200L, LENGTH / 200L));
    Path straight = folder.resolve("w.npy");
    try (NpyWriter writer =
        NpyWriter.create(straight, NpyHeader.of(NpyType.INT32, false, turned.shape()), false)) {
      writer.commit();
    }
    withFile(
        turned,
        turned.dataOffset(),
        pipeline ->
            assertRefused(
                pipeline.and("w", straight).through("v = w").to("v", folder.resolve("v.npy")),
                "'y' is written over elements of 'x'"));
  }
}
