package dev.tidepool.stream.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.EOFException;
import java.io.IOException;
import java.lang.Runtime.Version;
import java.lang.foreign.MemorySegment;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Java arrays go to files and come from them without a copy between. */
class ArrayTransfersTest {
  private static final int BYTES = 3_000_001;

  @TempDir Path folder;
  private Path path;

  @BeforeEach
  void needsTheCalls() {
    assumeTrue(ArrayTransfers.areSafe(), "SKIPPED: no critical calls on this platform");
    path = folder.resolve("file");
  }

  private static byte[] random(int bytes) {
    byte[] made = new byte[bytes];
    new SplittableRandom(bytes).nextBytes(made);
    return made;
  }

  @Test
  void whatAnArrayHasIsInTheFileAtItsPosition() throws IOException {
    byte[] written = random(BYTES);
    try (PositionalFile file = PositionalFile.create(path)) {
      file.allowCriticalCalls();
      assertThat(file.makesCriticalCalls()).isTrue();
      file.write(7, MemorySegment.ofArray(written).asReadOnly());
    }
    byte[] all = Files.readAllBytes(path);
    assertThat(all).hasSize(BYTES + 7);
    assertThat(Arrays.copyOfRange(all, 7, all.length)).isEqualTo(written);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 65_535, 65_536, 1 << 20, BYTES})
  void whatAFileHasIsInTheArray(int bytes) throws IOException {
    byte[] expected = random(bytes + 3);
    Files.write(path, expected);
    byte[] read = new byte[bytes];
    try (PositionalFile file = PositionalFile.open(path)) {
      file.allowCriticalCalls();
      file.read(3, MemorySegment.ofArray(read));
    }
    assertThat(read).isEqualTo(Arrays.copyOfRange(expected, 3, expected.length));
  }

  @Test
  void aFileOfAnotherFileSystemIsNotTakenForTheSystemsFileOfThatName() throws IOException {
    byte[] expected = random(100_000);
    byte[] read = new byte[expected.length];
    Files.write(path, random(200_000));
    try (FileSystem zip =
        FileSystems.newFileSystem(folder.resolve("z.zip"), Map.of("create", "true"))) {
      Path inZip = zip.getPath(path.toString());
      Files.createDirectories(inZip.getParent());
      Files.write(inZip, expected);
      try (PositionalFile file = PositionalFile.open(inZip)) {
        file.allowCriticalCalls();
        file.read(0, MemorySegment.ofArray(read));
      }
    }
    assertThat(read).isEqualTo(expected);
  }

  /** In the locale C the name of the file is read as that of the other one. */
  @Test
  void aFileWhoseNameIsNotInTheLocalesEncodingIsNotTakenForAnother() throws Exception {
    assumeTrue(
        "UTF-8".equals(System.getProperty("sun.jnu.encoding")), "SKIPPED: names are not UTF-8");
    Files.write(folder.resolve("\u00e9"), random(BYTES));
    Files.write(folder.resolve("\ufffd\ufffd"), random(BYTES + 1));
    ProcessBuilder child =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            InLocaleC.class.getName());
    child.environment().put("LC_ALL", "C");
    Process process = child.directory(folder.toFile()).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    assertThat(output).isEqualToIgnoringNewLines("is itself");
  }

  /** Reads the file of {@link #BYTES} in the current folder. */
  static final class InLocaleC {
    private InLocaleC() {}

    public static void main(String[] arguments) throws IOException {
      try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of(""))) {
        for (Path path : files) {
          if (Files.size(path) == BYTES) {
            byte[] read = new byte[BYTES];
            try (PositionalFile file = PositionalFile.open(path)) {
              file.allowCriticalCalls();
              file.read(0, MemorySegment.ofArray(read));
            }
            System.out.println(Arrays.equals(read, random(BYTES)) ? "is itself" : "is another");
          }
        }
      }
    }
  }

  @Test
  void aFileThatEndsTooEarlyIsNamedAsEver() throws IOException {
    Files.write(path, random(100_000));
    try (PositionalFile file = PositionalFile.open(path)) {
      file.allowCriticalCalls();
      assertThatThrownBy(() -> file.read(0, MemorySegment.ofArray(new byte[100_001])))
          .isInstanceOf(EOFException.class)
          .hasMessageContaining("100000");
    }
  }

  @Test
  void aFileWithoutRoomIsNamedAsEver() throws IOException {
    Path full = Path.of("/dev/full");
    assumeTrue(Files.exists(full), "SKIPPED: no /dev/full");
    try (PositionalFile file = PositionalFile.update(full)) {
      file.allowCriticalCalls();
      assertThat(file.makesCriticalCalls()).isTrue();
      assertThatThrownBy(() -> file.write(0, MemorySegment.ofArray(new byte[100_000])))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("No space left");
    }
  }

  @Test
  void aFileThatWasReplacedIsReadAsItWas() throws IOException {
    byte[] first = random(100_000);
    Files.write(path, first);
    byte[] read = new byte[first.length];
    try (PositionalFile file = PositionalFile.open(path)) {
      Files.move(path, folder.resolve("moved"));
      Files.write(path, new byte[first.length]);
      file.allowCriticalCalls();
      assertThat(file.makesCriticalCalls()).isFalse();
      file.read(0, MemorySegment.ofArray(read));
    }
    assertThat(read).isEqualTo(first);
  }

  @Test
  void afterItsCloseAFileIsClosed() throws IOException {
    Files.write(path, random(100_000));
    PositionalFile file = PositionalFile.open(path);
    file.allowCriticalCalls();
    file.close();
    assertThat(file.makesCriticalCalls()).isFalse();
    assertThatThrownBy(() -> file.read(0, MemorySegment.ofArray(new byte[100_000])))
        .isInstanceOf(ClosedChannelException.class);
  }

  @Test
  void aDescriptorIsClosedBehindItsLastTransfer() throws Exception {
    byte[] written = random(1 << 20);
    Files.write(path, written);
    for (int round = 0; round < 200; round++) {
      byte[] read = new byte[written.length];
      try (ArrayTransfers transfers = ArrayTransfers.open(path, false)) {
        Thread closing = Thread.ofPlatform().start(transfers::close);
        try {
          assertThat(transfers.transfer(0, MemorySegment.ofArray(read))).isEqualTo(read.length);
          assertThat(read).isEqualTo(written);
        } catch (IllegalStateException closed) {
          assertThat(closed).hasMessageContaining("closed");
        }
        closing.join();
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "25, false",
    "25.0.2, false",
    "25.0.3, true",
    "25.0.3+9-LTS, true",
    "25.0.10, true",
    "26, false",
    "26.0.2, false",
    "27, true",
    "28.0.1, true"
  })
  void arraysStayWhereTheyAreFromSomeVersionsOn(String version, boolean safe) {
    assertThat(ArrayTransfers.keepsArrays(Version.parse(version))).isEqualTo(safe);
  }
}
