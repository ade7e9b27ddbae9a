package dev.tidepool.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.TransferException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class NpyReaderTest {
  @TempDir Path folder;

  @ParameterizedTest
  @EnumSource(NpyType.class)
  void readsEveryTypeInBothByteOrders(NpyType type) {
    for (String order : List.of("little", "big")) {
      try (NpyReader reader = NpyFiles.open(type.numpyName() + "-" + order)) {
        assertThat(reader.header().type()).isEqualTo(type);
        assertThat(reader.header().shape()).containsExactly(12L);
        assertThat(NpyFiles.read(reader)).isEqualTo(NpyFiles.values(type));
      }
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "version-2|2|FLOAT32|false|(12,)",
        "version-3|3|FLOAT32|false|(12,)",
        "c-order|1|INT32|false|(3, 4)",
        "fortran-order|1|INT32|true|(3, 4)",
        "fortran-order-3d|1|INT16|true|(2, 3, 2)",
        "scalar|1|FLOAT64|false|()",
        "empty|1|FLOAT32|false|(0,)",
        "empty-3d|1|UINT16|false|(3, 0, 2)",
      })
  void readsEveryVersionOrderAndShape(
      String name, int version, NpyType type, boolean fortran, String shape) {
    try (NpyReader reader = NpyFiles.open(name)) {
      assertThat(reader.header().version()).isEqualTo(version);
      assertThat(reader.header().type()).isEqualTo(type);
      assertThat(reader.header().fortranOrder()).isEqualTo(fortran);
      assertThat(reader.header().shapeText()).isEqualTo(shape);
      assertThat(NpyFiles.read(reader)).hasSize((int) reader.header().dataBytes());
    }
  }

  @Test
  void fortranOrderIsReadInTheOrderOfTheFile() {
    try (NpyReader reader = NpyFiles.open("fortran-order")) {
      int[] elements = new int[4];
      reader.read(0, MemorySegment.ofArray(elements));

      assertThat(elements).containsExactly(-100, -100 + 4 * 37, -100 + 8 * 37, -100 + 37);
    }
  }

  @Test
  void aSingleValueHasOneElement() {
    try (NpyReader reader = NpyFiles.open("scalar")) {
      double[] value = new double[1];
      reader.read(0, MemorySegment.ofArray(value));

      assertThat(value).containsExactly(2.5);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "complex64|complex numbers ('<c8')",
        "structured|structured records",
        "structured-utf8|structured records",
        "float16|floats of 2 bytes ('<f2')",
        "longdouble|floats of 16 bytes ('<f16')",
        "string|strings ('<U4')",
        "bytes|byte strings",
        "date|dates ('<M8[s]')",
        "void|raw records",
        "object|Python objects",
      })
  void otherTypesAreOneClearErrorThatSaysWhatIsSupported(String name, String message) {
    assertThatThrownBy(() -> NpyFiles.open("unsupported-" + name))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("unsupported-" + name + ".npy")
        .hasMessageContaining(message)
        .hasMessageContaining("supported are bool, int8 to int64, uint8 to uint64, float32 and");
  }

  @Test
  void aTruncatedFileIsOneErrorThatNamesBothNumbers() throws IOException {
    byte[] whole = Files.readAllBytes(NpyFiles.path("float64-little"));
    Path file = folder.resolve("cut.npy");
    Files.write(file, Arrays.copyOf(whole, whole.length - 5));

    assertThatThrownBy(() -> NpyReader.open(file))
        .isInstanceOf(NpyFormatException.class)
        .hasMessageContaining("cut.npy")
        .hasMessageContaining("(12,) of float64 takes 96 bytes")
        .hasMessageContaining("only 91");
  }

  @Test
  void everyPrefixOfAFileIsRefused() throws IOException {
    byte[] whole = Files.readAllBytes(NpyFiles.path("int8-little"));
    Path file = folder.resolve("cut.npy");
    for (int length = 0; length < whole.length; length++) {
      Files.write(file, Arrays.copyOf(whole, length));
      assertThatThrownBy(() -> NpyReader.open(file)).isInstanceOf(NpyFormatException.class);
    }
  }

  @Test
  void bytesAfterTheArrayAreIgnored() throws IOException {
    byte[] whole = Files.readAllBytes(NpyFiles.path("int32-little"));
    Path file = folder.resolve("long.npy");
    Files.write(file, Arrays.copyOf(whole, whole.length + 7));

    try (NpyReader reader = NpyReader.open(file)) {
      assertThat(NpyFiles.read(reader)).isEqualTo(NpyFiles.values(NpyType.INT32));
    }
  }

  @Test
  void aMissingFileAFolderAndAPipeAreOneClearError() throws Exception {
    assertThatThrownBy(() -> NpyReader.open(folder.resolve("none.npy")))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("none.npy does not exist");
    assertThatThrownBy(() -> NpyReader.open(folder))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("is a folder");
    assertThatThrownBy(() -> NpyReader.open(Path.of("/dev/null")))
        .isInstanceOf(TransferException.class)
        .hasMessageContaining("no regular file");
  }

  @Test
  void readsAtAnyOffsetIntoNativeAndHeapMemory() throws IOException {
    Random random = new Random(5);
    int count = 700_000;
    Path file = write(count);
    try (NpyReader reader = NpyReader.open(file);
        Arena arena = Arena.ofConfined()) {
      for (int i = 0; i < 200; i++) {
        int from = random.nextInt(count);
        int length = random.nextInt(Math.min(count - from, i < 20 ? count : 1000) + 1);
        MemorySegment target =
            i % 2 == 0
                ? arena.allocate(length * 4L + 1, 1).asSlice(1)
                : MemorySegment.ofArray(new int[length]);
        reader.read(from, target);

        for (int at = 0; at < length; at += Math.max(1, length / 7)) {
          assertThat(target.get(ValueLayout.JAVA_INT_UNALIGNED, at * 4L)).isEqualTo(from + at);
        }
      }
    }
  }

  private Path write(int count) {
    Path file = folder.resolve("count.npy");
    int[] values = new int[count];
    Arrays.setAll(values, i -> i);
    try (NpyWriter writer =
        NpyWriter.create(file, NpyHeader.of(NpyType.INT32, false, List.of((long) count)), true)) {
      writer.write(0, MemorySegment.ofArray(values));
      writer.commit();
    }
    return file;
  }

  @Test
  void aRangeOutsideTheArrayIsOutOfBounds() {
    try (NpyReader reader = NpyFiles.open("float32-little")) {
      assertThatThrownBy(() -> reader.read(10, MemorySegment.ofArray(new float[3])))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> reader.read(-1, MemorySegment.ofArray(new float[1])))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> reader.read(0, MemorySegment.ofArray(new byte[3])))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(
              "3 bytes is no whole number of elements of the file, which are float32");
      assertThatThrownBy(() -> reader.read(0, MemorySegment.ofArray(new int[3]).asReadOnly()))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("read-only");
    }
  }

  @Test
  void aClosedReaderSaysSo() {
    NpyReader reader = NpyFiles.open("float32-little");
    reader.close();
    reader.close();

    assertThatThrownBy(() -> reader.read(0, MemorySegment.ofArray(new float[3])))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("float32-little.npy is closed");
  }

  @Test
  void aFileThatShrinksIsATransferException() throws IOException {
    Path file = write(1000);
    try (NpyReader reader = NpyReader.open(file);
        FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.truncate(2000);

      assertThatThrownBy(() -> reader.read(0, MemorySegment.ofArray(new int[1000])))
          .isInstanceOf(TransferException.class)
          .hasMessageContaining("count.npy shrank while it was read: the file ends at byte 2000");
    }
  }

  @Test
  void threadsReadSideBySideAndInterruptsHarmNobody() throws Exception {
    int count = 400_000;
    Path file = write(count);
    try (NpyReader reader = NpyReader.open(file);
        ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<Boolean>> results = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        int seed = t;
        results.add(threads.submit(() -> readRandomly(reader, count, seed)));
      }
      for (Future<Boolean> result : results) {
        assertThat(result.get()).isTrue();
      }
    }
  }

  /** Interrupts itself before, and is interrupted by another thread during, its reads. */
  private static boolean readRandomly(NpyReader reader, int count, int seed)
      throws InterruptedException {
    Random random = new Random(seed);
    Thread self = Thread.currentThread();
    for (int i = 0; i < 200; i++) {
      int[] target = new int[1 + random.nextInt(50_000)];
      int from = random.nextInt(count - target.length);
      Thread other = null;
      if (seed == 0) {
        self.interrupt();
      } else if (seed == 1) {
        other = Thread.startVirtualThread(self::interrupt);
      }
      reader.read(from, MemorySegment.ofArray(target));
      if (seed == 0 && !Thread.interrupted()) {
        return false;
      }
      if (other != null) {
        while (!Thread.interrupted()) {
          Thread.onSpinWait();
        }
        other.join();
      }
      for (int at = 0; at < target.length; at++) {
        if (target[at] != from + at) {
          return false;
        }
      }
    }
    return true;
  }
}
