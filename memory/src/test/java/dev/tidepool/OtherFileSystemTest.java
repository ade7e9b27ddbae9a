package dev.tidepool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tidepool.stream.NpyHeader;
import dev.tidepool.stream.NpyReader;
import dev.tidepool.stream.NpyType;
import dev.tidepool.stream.NpyWriter;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file in a zip file is read, and is refused by name where the operating system must know it. */
class OtherFileSystemTest {
  private static final NpyHeader HEADER = NpyHeader.of(NpyType.INT8, false, List.of(3L));

  @TempDir Path folder;
  private FileSystem zip;
  private Path file;

  @BeforeEach
  void open() throws IOException {
    Path disk = folder.resolve("x.npy");
    try (NpyWriter writer = NpyWriter.create(disk, HEADER, false)) {
      writer.write(0, MemorySegment.ofArray(new byte[] {1, 2, 3}));
      writer.commit();
    }
    zip = FileSystems.newFileSystem(folder.resolve("x.zip"), Map.of("create", "true"));
    file = Files.copy(disk, zip.getPath("/x.npy"));
  }

  @AfterEach
  void close() throws IOException {
    zip.close();
  }

  @Test
  void isRead() {
    byte[] read = new byte[3];
    try (NpyReader reader = NpyReader.open(file)) {
      reader.read(0, MemorySegment.ofArray(read));
    }
    assertThat(read).containsExactly(1, 2, 3);
  }

  @Test
  void isNotWritten() {
    assertRefused("write", () -> NpyWriter.create(file, HEADER, true));
  }

  @Test
  void isNotMapped() {
    try (Tidepool tidepool = Tidepool.open()) {
      UnifiedMemoryManager memory = tidepool.memory(tidepool.accelerator("cpu:0"));
      assertRefused("map", () -> memory.map(file, ElementType.BYTE, MapMode.READ));
    }
  }

  @Test
  void isNoFileOfAnOption() {
    assertThatThrownBy(() -> MemoryOptions.builder().sharedDirectory(file))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("shared-directory is /x.npy; it must be a path of the default file system");
  }

  private void assertRefused(String action, ThrowingCallable use) {
    assertThatThrownBy(use)
        .isInstanceOf(TransferException.class)
        .hasMessage(
            "cannot %s /x.npy in %s: it is of another file system; name a file of the default"
                    .formatted(action, zip)
                + " file system");
  }
}
